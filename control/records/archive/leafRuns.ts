import { type LoggedReceipt, leafText, type Place } from '../../book/receipt/generated/receipt.ts'
import { leafHash } from '../../book/usagelog/merkle.ts'
import { TILE } from '../../book/usagelog/tile.ts'
import { camelMembers } from '../../runtime/db/columns.ts'
import { ArchiveError } from './archiveError.ts'

/** Leaves of one tile of a usage log that follow each other. */
export interface LeafRun {
  readonly log: number
  /** Of the first of them. */
  readonly position: number
  readonly leaves: Buffer[]
  /** Of the request of the first of them. */
  readonly requestId: string
}

/**
 * Puts the leaves of an archive together as they lie in the usage logs, each computed from its receipt.
 * @throws ArchiveError where a receipt has another leaf than it names
 */
export async function* leafRuns(lines: AsyncIterable<string>): AsyncGenerator<LeafRun> {
  let run: LeafRun | undefined
  for await (const line of lines) {
    const row = camelMembers<LoggedReceipt & Place & { leafHash: string }>(JSON.parse(line))
    const leaf = leafHash(leafText(row))
    if (leaf.toString('hex') !== row.leafHash) {
      throw new ArchiveError(`the receipt of ${row.requestId} is not what its leaf says`)
    }
    const follows = run?.log === row.log && run.position + run.leaves.length === row.position
    if (run !== undefined && follows && row.position % TILE !== 0) run.leaves.push(leaf)
    else {
      if (run !== undefined) yield run
      run = { log: row.log, position: row.position, leaves: [leaf], requestId: row.requestId }
    }
  }
  if (run !== undefined) yield run
}
