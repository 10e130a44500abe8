import { lastCheckpoint } from '../../book/checkpoint/checkpointReads.ts'
import { parseCheckpoint } from '../../book/checkpoint/checkpointText.ts'
import { LOG_COUNT } from '../../book/usagelog/head.ts'
import type { ChainClient } from '../../chain/chainClient.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { batchNumbered, type SettlementBatch } from './batchRow.ts'
import { chargedUnits, hasAccounts, type LogRange } from './chargedUnits.ts'
import type { SettlementsLimits } from './limits.ts'
import { type ReserveOptions, readReserve } from './reserve.ts'
import { owedUnits, receiptsOf, statementText } from './statement.ts'

export interface NewBatchOptions {
  /** How many accounts its receipts have to be of, so that the sum shows no single account's charges. */
  readonly accountsMin: number
  readonly chain: ChainClient
  readonly chainId: number
  readonly reserve: ReserveOptions
  readonly limits: SettlementsLimits
}

/**
 * Makes the batch after the last one out of the last checkpoint.
 * @param lastNumber of the batch before; 0 for none
 * @returns undefined while no checkpoint was signed since, or its receipts are of too few accounts
 * @throws GatewayError chain_unavailable; errors of PostgreSQL
 */
export async function newBatch(
  db: Queryable,
  lastNumber: number,
  { accountsMin, chain, chainId, reserve: of, limits }: NewBatchOptions,
): Promise<SettlementBatch | undefined> {
  const [last, checkpoint] = await Promise.all([batchNumbered(db, lastNumber), lastCheckpoint(db)])
  const treeSizeFrom = last?.treeSize ?? 0
  if (checkpoint === undefined || checkpoint.size <= treeSizeFrom) return undefined
  const { size: treeSize, note, key } = checkpoint
  const { origin, root } = rootIn(note, treeSize)
  const ranges = await rangesUntil(db, treeSize, last?.logUntil ?? [])
  if (!(await hasAccounts(db, ranges, accountsMin))) return undefined
  const [charged, reserve] = await Promise.all([chargedUnits(db, ranges, limits), readReserve(db, chain, of)])
  const number = lastNumber + 1
  const { from: receiptsFrom, until: receiptsUntil } = receiptsOf(ranges)
  return {
    number,
    treeSizeFrom,
    treeSize,
    root,
    note,
    key,
    logFrom: ranges.map(({ from }) => from),
    logUntil: ranges.map(({ until }) => until),
    receiptsFrom,
    receiptsUntil,
    chargedUnits: [...charged.values()].reduce((sum, units) => sum + units, 0n),
    heldUnits: reserve.heldUnits,
    owedUnits: owedUnits(reserve),
    statement: statementText({ number, chainId, origin, treeSizeFrom, treeSize, root, ranges, charged, reserve }),
  }
}

function rootIn(note: string, size: number): { origin: string; root: Buffer } {
  const [origin = ''] = note.split('\n')
  const head = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1), origin)
  if (head?.size !== size) throw new Error(`the checkpoint of ${size} heads is none`)
  return { origin, root: head.root }
}

/**
 * By log, the receipts of a checkpoint since the batch before. Archived receipts are not counted any more: an earlier batch
 * has them, or the gateway began to anchor after it archived them.
 */
async function rangesUntil(db: Queryable, treeSize: number, before: readonly number[]): Promise<LogRange[]> {
  const found = await db.query<{ log: number; until: number; archived: number }>(
    `SELECT l.log, coalesce(h.size, 0) AS until, coalesce(a.until, 0) AS archived
     FROM generate_series(0, ${LOG_COUNT - 1}) AS l (log)
     LEFT JOIN LATERAL (
       SELECT size FROM log_heads WHERE log = l.log AND position < $1 ORDER BY size DESC LIMIT 1
     ) h ON true
     LEFT JOIN LATERAL (
       SELECT position + length(hashes) / 32 AS until FROM archived_leaves WHERE log = l.log
       ORDER BY position DESC LIMIT 1
     ) a ON true ORDER BY l.log`,
    [treeSize],
  )
  return found.rows.map(({ log, until, archived }) => {
    const from = Math.min(Math.max(before[log] ?? 0, archived), until)
    return { log, from, until }
  })
}
