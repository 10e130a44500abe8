import { sluice } from '../../contract/wire/generated/messages.js'
import { shardOf } from '../../contract/wire/redisKeys.ts'
import type { NoteKey } from '../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../control/book/checkpoint/signCheckpoint.ts'
import { bookBatch } from '../../control/book/settlement/bookBatch.ts'
import type { Pool } from '../../control/runtime/db/pool.ts'
import { fundedAccounts } from '../fundedAccounts.ts'
import { limits } from '../limits.ts'
import { entriesOf, settlementOf } from '../parts/endings.ts'

/** Receipts of an account. */
export const PER_ACCOUNT = 1_000
/** Receipts of an account in an hour. */
const PER_HOUR = 10
const HOUR_MS = 3_600_000
const CREDIT_NANOS = 1_000_000_000
const BATCH = 6_000
/** One of this many fails, and another one is of a batch job. */
const SELDOM = 20

/** The prices do not matter here, as long as each charge is at most the price of its usage. */
const SHEET = {
  coin: { usd: '1' },
  models: [
    {
      id: 'acme/chat-small',
      price: {
        input: '1',
        cached_input: '1',
        output: '1',
        batch_input: '1',
        batch_cached_input: '1',
        batch_output: '1',
      },
    },
  ],
}

/** Opens accounts with coin, and publishes the price sheet that receipts name. @returns their ids */
export async function openAccounts(pool: Pool, count: number): Promise<string[]> {
  await pool.query(
    `INSERT INTO price_sheets (version, published_at, valid_until, content_hash, sheet)
     VALUES (1, now(), now() + interval '1 day', '', $1)`,
    [JSON.stringify(SHEET)],
  )
  return fundedAccounts(pool, count, CREDIT_NANOS)
}

/**
 * Books receipts as control does, in batches that are signed one after the other. Accounts take turns.
 * @param first how many receipts there are before these
 */
export async function bookReceipts(
  pool: Pool,
  accounts: readonly string[],
  [first, count]: readonly [number, number],
  key: NoteKey,
): Promise<void> {
  const until = first + count
  for (let from = first; from < until; from += BATCH) {
    const size = Math.min(BATCH, until - from)
    const { receipts } = await bookBatch(pool, entriesOf(endingsOf(accounts, from, size), `${from + 1}-0`))
    if (receipts !== size) throw new Error(`${receipts} of ${size} endings were booked`)
    await signCheckpoint(pool, key, { ...limits, checkpointMs: 0 })
  }
}

function endingsOf(accounts: readonly string[], from: number, size: number): Map<number, Uint8Array[]> {
  const endings = new Map<number, Uint8Array[]>()
  for (let i = from; i < from + size; i++) {
    const accountId = accounts[i % accounts.length] ?? ''
    const shard = shardOf(accountId)
    const own = endings.get(shard) ?? []
    own.push(endingOf(accountId, i, Math.floor(i / accounts.length)))
    endings.set(shard, own)
  }
  return endings
}

/** @param turn how many receipts of the account are before this one */
function endingOf(accountId: string, number: number, turn: number): Uint8Array {
  const isFailed = number % SELDOM === 0
  const chargeUnits = isFailed ? 0 : 1 + (number % 100)
  const heldAtMs = Date.now() - Math.floor(turn / PER_HOUR) * HOUR_MS
  const settlement = settlementOf({
    accountId,
    holdUnits: 200,
    chargeUnits,
    status: isFailed ? sluice.Status.FAILED : sluice.Status.OK,
    rate: number % SELDOM === 1 ? sluice.Rate.BATCH_RATE : sluice.Rate.STANDARD_RATE,
    startedAtMs: heldAtMs,
  })
  const split = isFailed ? '' : `coin=${chargeUnits}`
  return sluice.Ended.encode({ settlement, voided: isFailed, heldAtMs, split }).finish()
}
