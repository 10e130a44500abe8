import { readHead } from '../../book/usagelog/head.ts'
import { inclusionProof } from '../../book/usagelog/inclusionProof.ts'
import { leavesOf } from '../../book/usagelog/leafReads.ts'
import { verifyInclusion } from '../../book/usagelog/merkle.ts'
import { isFullTile } from '../../book/usagelog/storedNodes.ts'
import { TILE } from '../../book/usagelog/tile.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { ArchiveError } from './archiveError.ts'
import { type Manifest, readLines } from './archiveFile.ts'
import { type LeafRun, leafRuns } from './leafRuns.ts'

/**
 * Reads an archive and compares it with the usage logs: each receipt with its leaf, the leaves with those of the logs, these
 * with the stored nodes above them, and the last one of each log with the head of the log.
 * @param take receives the checked leaves, in their order
 * @returns the number of receipts
 * @throws ArchiveError with the first mismatch
 */
export async function checkArchive(
  db: Queryable,
  path: string,
  manifest: Manifest,
  take: (run: LeafRun) => Promise<void> = async () => {},
): Promise<number> {
  const counted = new Map<number, { receipts: number; first: number; last: number }>()
  let receipts = 0
  for await (const run of leafRuns(readLines(path, manifest))) {
    await checkRun(db, run)
    await take(run)
    const last = run.position + run.leaves.length - 1
    const before = counted.get(run.log) ?? { receipts: 0, first: run.position, last }
    counted.set(run.log, { ...before, receipts: before.receipts + run.leaves.length, last })
    receipts += run.leaves.length
  }
  for (const { log, ...part } of manifest.logs) {
    const found = counted.get(log)
    if (JSON.stringify(found) !== JSON.stringify(part)) {
      throw new ArchiveError(`${path} has other receipts of log ${log} than its manifest says`)
    }
    await checkHead(db, log, part.last)
  }
  if (receipts !== manifest.receipts)
    throw new ArchiveError(`${path} has ${receipts} receipts, not those of its manifest`)
  return receipts
}

async function checkRun(db: Queryable, { log, position, leaves, requestId }: LeafRun): Promise<void> {
  const tile = Math.floor(position / TILE)
  const read = leavesOf(log, { position, requestId })
  const { size } = await readHead(db, log)
  const until = Math.min((tile + 1) * TILE, size)
  const known = await read(db, tile * TILE, until)
  for (const [i, leaf] of leaves.entries()) {
    if (known[position - tile * TILE + i]?.equals(leaf) === true) continue
    throw new ArchiveError(`usage log ${log} has another leaf at ${position + i} than the archive`)
  }
  if (known.length < TILE || (await isFullTile(db, log, tile, known))) return
  throw new ArchiveError(`node ${tile} of usage log ${log} is not over its leaves: see the audit`)
}

async function checkHead(db: Queryable, log: number, position: number): Promise<void> {
  const proof = await inclusionProof(db, { log, position })
  const bytes = (hex: string) => Buffer.from(hex, 'hex')
  const holds =
    proof !== undefined &&
    verifyInclusion(bytes(proof.leaf), position, proof.tree_size, proof.proof.map(bytes), bytes(proof.root))
  if (!holds) throw new ArchiveError(`the head of usage log ${log} does not contain its receipt ${position}`)
}
