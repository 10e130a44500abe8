import { MICROS_PER_TOKEN } from '../../../contract/money/lockTokens.ts'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import { camelColumns, msColumns } from '../../runtime/db/columns.ts'
import { countOf } from '../../runtime/db/count.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { Fill, RestingOrder, Side } from './orderBook.ts'

export type OrderStatus = 'open' | 'filled' | 'cancelled' | 'expired'

export interface LockOrder {
  readonly id: string
  readonly seriesId: string
  readonly accountId: string
  readonly side: Side
  /** Nanos of coin per whole token; null for a market order. */
  readonly priceNanos: number | null
  readonly micros: number
  readonly filledMicros: number
  readonly status: OrderStatus
  /** The escrow for it: coin of a bid, tokens of an ask. */
  readonly escrowNanos: number
  readonly escrowMicros: number
  readonly createdAtMs: number
  readonly endedAtMs: number | null
}

interface StoredOrder extends LockOrder {
  readonly place: number
}

interface BestOrder extends StoredOrder {
  readonly roomNanos: number | null
}

const COLUMNS = `${camelColumns(`id, place, series_id, account_id, side, price_nanos, filled_micros, status, escrow_nanos,
  escrow_micros`)}, token_micros AS micros, ${msColumns('created_at, ended_at')}`

const asResting = (row: BestOrder): RestingOrder => ({
  id: row.id,
  accountId: row.accountId,
  side: row.side,
  priceNanos: row.priceNanos ?? 0,
  place: row.place,
  micros: row.micros - row.filledMicros,
  ...(row.roomNanos !== null && { roomNanos: row.roomNanos }),
})

/**
 * The best open orders of one side that an order would meet, in their order. Those whose accounts are too full for its coin are left
 * out, but for the best one that it crosses.
 * @param limit the most of them
 */
export async function frontOrders(
  db: Queryable,
  seriesId: string,
  side: Side,
  { micros, priceNanos }: { readonly micros: number; readonly priceNanos: number | undefined },
  limit: number,
): Promise<RestingOrder[]> {
  const inOrder = `ORDER BY price_nanos ${DIRECTION[side]}, place`
  const found = await db.query<BestOrder>(
    `SELECT ${COLUMNS}, room_nanos AS "roomNanos" FROM (
       SELECT *, sum(token_micros - filled_micros) OVER (PARTITION BY is_full ${inOrder}) AS up_to
       FROM ((${bestOrders(side)} LIMIT $2) UNION ALL (${fullOrders(side)} LIMIT 1)) AS best
     ) AS front WHERE up_to - (token_micros - filled_micros) < $3 ${inOrder}`,
    [seriesId, limit, micros, priceNanos ?? null],
  )
  return found.rows.map(asResting)
}

/**
 * Micro-tokens that one order of an account can fill at market: up to the first order of its own, and of `limit` orders at most.
 * @param micros what is ordered: accounts that are too full for the coin for these are left out
 */
export async function fillableMicros(
  db: Queryable,
  seriesId: string,
  side: Side,
  { accountId, micros }: { readonly accountId: string; readonly micros: number },
  limit: number,
): Promise<number> {
  const found = await db.query<{ micros: number }>(
    `SELECT coalesce(sum(micros), 0)::bigint AS micros FROM (
       SELECT token_micros - filled_micros AS micros,
         bool_or(account_id = $4) OVER (ORDER BY price_nanos ${DIRECTION[side]}, place) AS is_behind_own
       FROM (${bestOrders(side)} LIMIT $2) AS best
     ) AS front WHERE NOT is_behind_own`,
    [seriesId, limit, micros, accountId],
  )
  return found.rows[0]?.micros ?? 0
}

const DIRECTION: Readonly<Record<Side, string>> = { buy: 'DESC', sell: 'ASC' }

/**
 * SQL of the open orders of the series $1, the best first, whose accounts can hold the coin for $3 micro-tokens of them. Only what sells
 * brings coin, and the operator's has no bound.
 */
const bestOrders = (side: Side): string =>
  `SELECT * FROM (${openOrders(side)}) AS best WHERE NOT is_full ORDER BY price_nanos ${DIRECTION[side]}, place`

/** SQL of the others at $4 nanos or less, the best first. Behind $2 orders that can be filled an order meets none. */
const fullOrders = (side: Side): string =>
  `SELECT * FROM (${openOrders(side)} ORDER BY price_nanos, place LIMIT $2) AS first
   WHERE is_full AND price_nanos <= $4 ORDER BY price_nanos, place`

function openOrders(side: Side): string {
  const isSell = side === 'sell'
  const roomNanos = isSell ? `${MAX_UNITS} - l.balance` : 'NULL'
  const nanos = `o.price_nanos::numeric * least(o.token_micros - o.filled_micros, $3) / ${MICROS_PER_TOKEN}`
  return `SELECT o.*, (${roomNanos})::bigint AS room_nanos, coalesce(${nanos} > (${roomNanos})::numeric, false) AS is_full
    FROM lock_orders o ${isSell ? `LEFT JOIN ledger_accounts l ON l.id = 'coin:' || o.account_id` : ''}
    WHERE o.series_id = $1 AND o.side = '${side}' AND o.status = 'open'`
}

/** Writes a new order; its place in time is drawn now. */
export async function insertOrder(
  client: Client,
  order: Omit<LockOrder, 'createdAtMs' | 'endedAtMs'>,
): Promise<LockOrder> {
  const made = await client.query<StoredOrder>(
    `INSERT INTO lock_orders (id, series_id, account_id, side, type, price_nanos, token_micros, filled_micros, status,
       escrow_nanos, escrow_micros, ended_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE $9 WHEN 'open' THEN NULL ELSE now() END)
     RETURNING ${COLUMNS}`,
    [
      order.id,
      order.seriesId,
      order.accountId,
      order.side,
      order.priceNanos === null ? 'market' : 'limit',
      order.priceNanos,
      order.micros,
      order.filledMicros,
      order.status,
      order.escrowNanos,
      order.escrowMicros,
    ],
  )
  const [row] = made.rows
  if (row === undefined) throw new Error('the database returned no row for a new order')
  return row
}

/** Writes the fills of an order in their order, and the remainders of the orders that rested. @param feesNanos by fill */
export async function insertFills(
  client: Client,
  seriesId: string,
  fills: readonly Fill[],
  feesNanos: readonly number[],
): Promise<void> {
  const taker = fills[0]?.taker
  if (taker === undefined) return
  const filled = await client.query(
    `WITH fill AS (
       SELECT * FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
         WITH ORDINALITY AS f (maker_order, price_nanos, micros, cost_nanos, fee_nanos, n)
     ), stored AS (
       INSERT INTO lock_fills (series_id, maker_order, taker_order, price_nanos, token_micros, cost_nanos, fee_nanos)
       SELECT $1, maker_order, $2, price_nanos, micros, cost_nanos, fee_nanos FROM fill ORDER BY n
     )
     UPDATE lock_orders o SET filled_micros = o.filled_micros + f.micros,
       status = CASE WHEN o.filled_micros + f.micros = o.token_micros THEN 'filled' ELSE 'open' END,
       ended_at = CASE WHEN o.filled_micros + f.micros = o.token_micros THEN now() END,
       escrow_nanos = o.escrow_nanos - CASE o.side WHEN 'buy' THEN f.cost_nanos ELSE 0 END,
       escrow_micros = o.escrow_micros - CASE o.side WHEN 'sell' THEN f.micros ELSE 0 END
     FROM fill f WHERE o.id = f.maker_order AND o.status = 'open'`,
    [
      seriesId,
      taker.id,
      textArray(fills.map(({ maker }) => maker.id)),
      intArray(fills.map(({ priceNanos }) => priceNanos)),
      intArray(fills.map(({ micros }) => micros)),
      intArray(fills.map(({ costNanos }) => costNanos)),
      intArray(feesNanos),
    ],
  )
  if (filled.rowCount !== fills.length) throw new Error(`order ${taker.id} fills orders that are not open`)
}

/** An order, whatever its state; undefined when there is none. */
export async function orderById(db: Queryable, id: string): Promise<LockOrder | undefined> {
  const found = await db.query<StoredOrder>(`SELECT ${COLUMNS} FROM lock_orders WHERE id = $1`, [id])
  return found.rows[0]
}

/** Ends open orders that are not filled. Their series has to be locked. */
export async function endOrders(
  client: Client,
  ids: readonly string[],
  status: 'cancelled' | 'expired',
): Promise<LockOrder[]> {
  const ended = await client.query<StoredOrder>(
    `UPDATE lock_orders SET status = $2, escrow_nanos = 0, escrow_micros = 0, ended_at = now()
     WHERE id = ANY ($1::text[]) AND status = 'open' RETURNING ${COLUMNS}`,
    [textArray(ids), status],
  )
  if (ended.rowCount !== ids.length) throw new Error(`of the orders ${ids.join(', ')} one is not open`)
  return ended.rows
}

/**
 * Open orders of one account for a series, whichever has some, oldest first. Accounts that are too full for what comes back of
 * their own come last.
 */
export async function openOrdersOfOne(client: Client, seriesId: string, limit: number): Promise<LockOrder[]> {
  const found = await client.query<StoredOrder>(
    `SELECT ${COLUMNS} FROM lock_orders WHERE series_id = $1 AND status = 'open' AND account_id =
       (SELECT o.account_id FROM lock_orders o LEFT JOIN ledger_accounts l ON l.id = 'coin:' || o.account_id
        WHERE o.series_id = $1 AND o.status = 'open' GROUP BY o.account_id, l.balance
        ORDER BY coalesce(l.balance, 0) + sum(o.escrow_nanos) > ${MAX_UNITS}, o.account_id LIMIT 1)
     ORDER BY place LIMIT $2`,
    [seriesId, limit],
  )
  return found.rows
}

/** How many orders of an account are open. */
export async function countOpenOrders(db: Queryable, accountId: string): Promise<number> {
  return countOf(db, `SELECT count(*) FROM lock_orders WHERE account_id = $1 AND status = 'open'`, [accountId])
}

/** The orders of an account, newest first. @param after the id of the last order of the page before, or '' */
export async function pageOfOrders(
  db: Queryable,
  accountId: string,
  limit: number,
  after: string,
): Promise<LockOrder[]> {
  const found = await db.query<StoredOrder>(
    `SELECT ${COLUMNS} FROM lock_orders WHERE account_id = $1 AND ($2 = '' OR id < $2) ORDER BY id DESC LIMIT $3`,
    [accountId, after, limit],
  )
  return found.rows
}

/** The costs of filled orders, by order: coin and fees, in nanos. */
export async function costsOf(db: Queryable, orderIds: readonly string[]) {
  const found = await db.query<{ id: string; costNanos: number; feeNanos: number }>(
    `SELECT o.id, coalesce(sum(f.cost_nanos), 0)::bigint AS "costNanos",
       coalesce(sum(f.fee_nanos) FILTER (WHERE f.taker_order = o.id), 0)::bigint AS "feeNanos"
     FROM unnest($1::text[]) AS o (id) JOIN lock_fills f ON f.taker_order = o.id OR f.maker_order = o.id GROUP BY o.id`,
    [textArray(orderIds)],
  )
  return new Map(found.rows.map(({ id, ...costs }) => [id, costs]))
}
