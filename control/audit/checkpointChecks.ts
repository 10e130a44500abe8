import { checkpointText, headText, parseCheckpoint } from '../book/checkpoint/checkpointText.ts'
import { openNote } from '../book/checkpoint/noteKey.ts'
import { Frontier } from '../book/usagelog/frontier.ts'
import { HEADS_LOG } from '../book/usagelog/head.ts'
import { leafHash } from '../book/usagelog/merkle.ts'
import type { Limits } from '../limits.ts'
import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults } from './check.ts'

interface HeadRow {
  readonly position: number
  readonly log: number
  readonly size: number
  readonly root: Buffer
}

interface CheckpointRow {
  readonly size: number
  readonly note: string
  readonly key: string
}

interface LogFaults {
  readonly grow: Faults
  readonly signed: Faults
}

/** Computes the log of heads again: heads only grow, and every checkpoint signs what the log was. */
export async function checkCheckpoints(client: Client, limits: Limits): Promise<AuditCheck[]> {
  const faults = { grow: new Faults(), signed: new Faults() }
  const frontier = new Frontier(0, Buffer.alloc(0))
  const sizes = new Map<number, number>()
  let checkpoints = 0
  for (let next = 0; ; ) {
    const page = await client.query<HeadRow>(
      'SELECT position, log, size, root FROM log_heads WHERE position >= $1 ORDER BY position LIMIT $2',
      [next, limits.auditPageMax],
    )
    const upTo = next + page.rows.length
    const notes = await readCheckpoints(client, next, upTo)
    checkpoints += notes.size
    for (const { position, log, size, root } of page.rows) {
      if (position !== next++) faults.grow.add(`position ${next - 1} of the log of heads is missing`)
      if (size <= (sizes.get(log) ?? 0)) faults.grow.add(`log ${log} went back to ${size} receipts`)
      sizes.set(log, size)
      frontier.append(leafHash(headText(log, { size, root })))
      checkNote(notes.get(frontier.size), frontier, faults.signed)
    }
    if (page.rows.length < limits.auditPageMax) break
  }
  await compareEnd(client, frontier, faults)
  const checked = `${checkpoints} checkpoints of ${frontier.size} heads`
  return [
    faults.grow.check('heads of the usage logs only grow', checked),
    faults.signed.check('checkpoints sign the heads', checked),
  ]
}

/** Those of sizes above `from`, up to `upTo`, by their sizes. */
async function readCheckpoints(client: Client, from: number, upTo: number): Promise<Map<number, CheckpointRow>> {
  const found = await client.query<CheckpointRow>(
    'SELECT size, note, key FROM checkpoints WHERE size > $1 AND size <= $2',
    [from, upTo],
  )
  return new Map(found.rows.map((row) => [row.size, row]))
}

function checkNote(row: CheckpointRow | undefined, frontier: Frontier, faults: Faults): void {
  if (row === undefined) return
  const { size } = row
  const text = openNote(row.note, row.key)
  const origin = row.key.split('+')[0] ?? ''
  if (text === undefined || parseCheckpoint(text, origin) === undefined) {
    faults.add(`the checkpoint of ${size} heads is not signed with its key`)
  } else if (text !== checkpointText(origin, { size, root: frontier.root() })) {
    faults.add(`the checkpoint of ${size} heads signs something else`)
  }
}

async function compareEnd(client: Client, frontier: Frontier, { grow, signed }: LogFaults): Promise<void> {
  const head = await client.query<{ size: number; peaks: Buffer }>(
    'SELECT size, peaks FROM usage_log_heads WHERE log = $1',
    [HEADS_LOG],
  )
  const { size, peaks } = head.rows[0] ?? { size: -1, peaks: Buffer.alloc(0) }
  if (size !== frontier.size || !peaks.equals(frontier.peaks()))
    grow.add('the head of the log of heads differs from it')
  const last = await client.query<{ size: number | null }>('SELECT max(size) AS size FROM checkpoints')
  if ((last.rows[0]?.size ?? 0) !== frontier.size) {
    signed.add(`the last checkpoint is of ${last.rows[0]?.size ?? 0} heads, there are ${frontier.size}`)
  }
}
