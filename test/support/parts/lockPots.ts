import { newId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { accountKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import {
  ESCROW_LOCKS,
  holdingAccount,
  LOCK_OPERATOR,
  lockEscrowAccount,
  lockIssuedAccount,
  lockUnearnedAccount,
} from '../../../control/book/ledger/accounts.ts'
import { appendAdmissionEvent, lockAccounts } from '../../../control/book/ledger/appendAdmissionEvent.ts'
import { postTransfers, type Transfer } from '../../../control/book/ledger/postTransfers.ts'
import { type Client, type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { until } from '../until.ts'

/** A series of a test. */
export interface PlantedSeries {
  readonly id: string
  readonly model: string
  /** Units of a micro-token. */
  readonly microUnits: number
  readonly endsAtMs: number
  /** USD per million tokens, by class. */
  readonly price: Readonly<Record<string, string>>
}

const MICROS_PER_TOKEN = 1_000_000
const MONTH_MS = 31 * 86_400_000

/** Issues a series whose tokens are all the operator's, at 1 USD a token. */
export function plantSeries(
  pool: Pool,
  {
    model,
    provider = 'mock',
    endsAtMs = Date.now() + MONTH_MS,
    price = { input: '0.5', output: '1' },
    supplyTokens = 1_000,
  }: {
    readonly model: string
    readonly provider?: string
    readonly endsAtMs?: number
    readonly price?: Readonly<Record<string, string>>
    readonly supplyTokens?: number
  },
): Promise<PlantedSeries> {
  const series = { id: newId('lock'), model, microUnits: 1_000, endsAtMs, price }
  const tokenUnits = series.microUnits * MICROS_PER_TOKEN
  return withTransaction(pool, async (client) => {
    await client.query(
      `INSERT INTO lock_series (id, model, month, ends_at_ms, provider, locked_price_units, price, supply_micros,
         taker_fee_ppm, state)
       VALUES ($1, $2, to_char(to_timestamp($3 / 1000.0 - 1) AT TIME ZONE 'UTC', 'YYYY-MM'), $3, $4, $5, $6, $7, 0, 'open')`,
      [series.id, model, endsAtMs, provider, tokenUnits, JSON.stringify(price), supplyTokens * MICROS_PER_TOKEN],
    )
    await client.query(
      `INSERT INTO ledger_accounts (id, kind, currency, may_go_negative) VALUES ($1, 'system', 'usd', true),
         ($2, 'system', 'usd', false), ($3, 'system', 'coin', false), ($4, 'lock', 'usd', false)`,
      [
        lockIssuedAccount(series.id),
        lockEscrowAccount(series.id),
        lockUnearnedAccount(series.id),
        holdingAccount(series.id, LOCK_OPERATOR),
      ],
    )
    const [debit, credit] = [lockIssuedAccount(series.id), holdingAccount(series.id, LOCK_OPERATOR)]
    const units = supplyTokens * tokenUnits
    await postTransfers(client, [{ kind: 'lock_issue', ref: series.id, debit, credit, units }])
    return series
  })
}

/**
 * Has an account hold tokens of the operator's, which pass through the escrow by orders that ended without a fill: so tests
 * choose what was paid, also nothing.
 * @param soldNanos what it has paid
 */
export function plantHolding(
  pool: Pool,
  { id: seriesId, endsAtMs }: PlantedSeries,
  accountId: string,
  units: number,
  soldNanos = 0,
): Promise<void> {
  return withTransaction(pool, async (client) => {
    await lockAccounts(client, [accountId])
    const holding = holdingAccount(seriesId, accountId)
    await client.query(`INSERT INTO ledger_accounts (id, kind, owner) VALUES ($1, 'lock', $2) ON CONFLICT DO NOTHING`, [
      holding,
      accountId,
    ])
    await client.query('INSERT INTO lock_holdings (series_id, account_id) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      seriesId,
      accountId,
    ])
    const [given, got] = [
      await endedOrder(client, seriesId, LOCK_OPERATOR),
      await endedOrder(client, seriesId, accountId),
    ]
    const escrow = lockEscrowAccount(seriesId)
    await postTransfers(client, [
      { kind: 'lock_order', ref: given, debit: holdingAccount(seriesId, LOCK_OPERATOR), credit: escrow, units },
      { kind: 'lock_cancel', ref: got, debit: escrow, credit: holding, units },
      ...(soldNanos > 0 ? soldFor({ given, got }, `coin:${accountId}`, lockUnearnedAccount(seriesId), soldNanos) : []),
    ])
    await appendAdmissionEvent(client, {
      accountId,
      coinDelta: -soldNanos,
      grant: { id: seriesId, expiresAtMs: endsAtMs, units },
    })
  })
}

/** An order that was not filled. @returns its id */
async function endedOrder(client: Client, seriesId: string, accountId: string): Promise<string> {
  const id = newId('lor')
  await client.query(
    `INSERT INTO lock_orders (id, series_id, account_id, side, type, token_micros, status, ended_at)
     VALUES ($1, $2, $3, 'sell', 'market', 1, 'cancelled', now())`,
    [id, seriesId, accountId],
  )
  return id
}

/** The coin that is paid for tokens, through the escrow as well. */
function soldFor(
  { given, got }: { readonly given: string; readonly got: string },
  debit: string,
  credit: string,
  nanos: number,
): Transfer[] {
  const coin = { units: nanos, coinNanos: nanos }
  return [
    { kind: 'lock_order', ref: got, debit, credit: ESCROW_LOCKS, ...coin },
    { kind: 'lock_cancel', ref: given, debit: ESCROW_LOCKS, credit, ...coin },
  ]
}

/** Waits until requests can hold tokens of a series on an account. */
export async function holdingKnown(redis: Redis, accountId: string, { id }: PlantedSeries): Promise<void> {
  const key = accountKey(shardOf(accountId), accountId)
  await until('the holding is in Redis', async () => ((await redis.hget(key, 'g')) ?? '').includes(id))
}

/** Tokens of a series that the book says an account has, in units. */
export async function heldUnits(pool: Pool, { id }: PlantedSeries, accountId: string): Promise<number> {
  const found = await pool.query<{ balance: number }>('SELECT balance FROM ledger_accounts WHERE id = $1', [
    holdingAccount(id, accountId),
  ])
  return found.rows[0]?.balance ?? 0
}
