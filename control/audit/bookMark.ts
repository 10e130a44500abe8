import { HEADS_LOG, readHeads } from '../book/usagelog/head.ts'
import type { Client, Pool } from '../runtime/db/pool.ts'
import { inSnapshot } from './snapshot.ts'

/** Names the layout of marks; a changed one gets another name. */
export const MARK_FORMAT = 'sluice-mark/1'

/** An amount in JSON: a number, or decimal text where a number would not be exact. */
export type WideAmount = number | string

/** The amount in its JSON form. */
export function wideAmount(amount: bigint): WideAmount {
  const number = Number(amount)
  return Number.isSafeInteger(number) ? number : String(amount)
}

/** How far a usage log, or the log of heads, was. */
export interface MarkedLog {
  readonly log: number
  readonly size: number
  /** Hex. */
  readonly root: string
}

/**
 * How far the book is at a moment, small enough to be kept elsewhere every minute. After a restore it shows which entries the
 * restored book lacks.
 */
export interface BookMark {
  readonly format: string
  readonly at: string
  readonly logs: readonly MarkedLog[]
  /** The newest checkpoint; null before the first. */
  readonly checkpoint: string | null
  /** Balances of the gateway's own ledger accounts, in units, those of coin in nanos. */
  readonly balances: Readonly<Record<string, WideAmount>>
  /** How many endings of each proxy process are booked. */
  readonly endings: Readonly<Record<string, number>>
}

/** Reads how far the book is, all of one moment. */
export function readMark(pool: Pool): Promise<BookMark> {
  return inSnapshot(pool, async (client) => ({
    format: MARK_FORMAT,
    at: new Date().toISOString(),
    logs: await readLogs(client),
    checkpoint: await readCheckpoint(client),
    balances: await readBalances(client),
    endings: await readEndings(client),
  }))
}

async function readLogs(client: Client): Promise<MarkedLog[]> {
  const heads = await readHeads(client, HEADS_LOG)
  return heads.map(({ log, size, root }) => ({ log, size, root: root.toString('hex') }))
}

async function readCheckpoint(client: Client): Promise<string | null> {
  const found = await client.query<{ note: string }>('SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1')
  return found.rows[0]?.note ?? null
}

async function readBalances(client: Client): Promise<Record<string, WideAmount>> {
  const found = await client.query<{ id: string; balance: string }>(
    `SELECT id, balance::text AS balance FROM ledger_accounts WHERE kind = 'system' ORDER BY id`,
  )
  return Object.fromEntries(found.rows.map(({ id, balance }) => [id, wideAmount(BigInt(balance))]))
}

async function readEndings(client: Client): Promise<Record<string, number>> {
  const found = await client.query<{ owner: string; endings: number }>(
    'SELECT owner, sum(seq) AS endings FROM owner_positions GROUP BY owner ORDER BY owner',
  )
  return Object.fromEntries(found.rows.map(({ owner, endings }) => [owner, endings]))
}
