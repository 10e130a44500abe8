import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { coinDecimal } from '../../../contract/money/coin.ts'
import { formatTokens, MICROS_PER_TOKEN, parseTokens } from '../../../contract/money/lockTokens.ts'
import { parseUsd } from '../../../contract/money/units.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import type { Debits } from '../../admission/debits/debit.ts'
import type { ApiCall, ReadHandler, WriteHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { refuseTooMany } from '../../book/ledger/refuseTooMany.ts'
import { coinAmount, coinAmountJson, coinPrice } from '../../catalog/pricing/coinAmounts.ts'
import { announceKeyChanges } from '../../runtime/bus/announceKeyChanges.ts'
import type { Client, Pool } from '../../runtime/db/pool.ts'
import { cancelOrder } from './endOrders.ts'
import { holdingsOf, usesOf } from './holdings.ts'
import type { LocksLimits } from './limits.ts'
import { bookJson, holdingJson, levelsOf, orderJson, rulesJson, seriesJson, useJson } from './lockJson.ts'
import type { WantedOrder } from './matchOrder.ts'
import { costsOf, countOpenOrders, pageOfOrders } from './orderStore.ts'
import { placeOrder } from './placeOrder.ts'
import { type LockQuote, quoteBuy, takeQuote } from './quotes.ts'
import { type LockSeries, listSeries, lockTradedSeries, seriesById, tradedSeries } from './series.ts'
import { countOtherSeries } from './tokens/otherSeries.ts'
import { LOT_MICROS, TICK_NANOS } from './tradeAmounts.ts'
import { refuseSubKey, requireTrader } from './traders.ts'

type LockOperation =
  | 'get_locks'
  | 'get_lock_series'
  | 'quote_lock'
  | 'create_lock_order'
  | 'cancel_lock_order'
  | 'get_own_locks'

export interface LockParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly debits: Debits
  /** Applies the booked changes of these accounts to admission. */
  readonly applyToAdmission: (accountIds: readonly string[]) => Promise<unknown>
  readonly limits: LocksLimits
}

const NO_COSTS = { costNanos: 0, feeNanos: 0 }

/** The endpoints of compute locks. */
export function lockHandlers(parts: LockParts): Record<LockOperation, ReadHandler | WriteHandler<unknown>> {
  const { pool, debits, limits } = parts
  const tell = async (accountIds: readonly string[]) => {
    await parts.applyToAdmission(accountIds)
    // Keys whose account holds tokens now, or holds none any more.
    await announceKeyChanges(pool, parts.redis, limits)
  }
  return {
    get_locks: { read: async (call) => ({ json: await locksJson(pool, call, limits) }) },
    get_lock_series: { read: async (call) => ({ json: await oneSeriesJson(pool, call) }) },
    quote_lock: {
      authorize: async (call) => refuseSubKey(call),
      write: async (call, client) => {
        refuseSubKey(call)
        const series = await tradedSeries(client, String(call.body['series']))
        const micros = readLots(call)
        const quote = await quoteBuy(client, series, call.accountId, micros, limits)
        return { json: quoteJson(quote, series, micros, await coinPrice(client), limits) }
      },
    },
    create_lock_order: {
      authorize: async (call) => requireTrader(call),
      write: async (call, client, _prepared, transaction) => {
        requireTrader(call)
        const coinUsdUnits = await coinPrice(client)
        const series = await lockTradedSeries(client, String(call.body['series']))
        const wanted = await readOrder(call, client, series)
        await refuseTooManyOrders(client, call.accountId, series.id, limits)
        const placed = await placeOrder(transaction, debits, call.actor, { series, wanted, coinUsdUnits }, limits)
        return {
          status: 201,
          json: orderJson(placed.order, placed, coinUsdUnits),
          afterCommit: () => tell(placed.accountIds),
        }
      },
    },
    cancel_lock_order: {
      authorize: async (call) => requireTrader(call),
      write: async (call, client) => {
        requireTrader(call)
        const id = call.params['id'] ?? ''
        if (!isId('lor', id)) throw new GatewayError('lock_order_not_found')
        const coinUsdUnits = await coinPrice(client)
        const order = await cancelOrder(client, call.actor, id, call.accountId, coinUsdUnits)
        const costs = (await costsOf(client, [id])).get(id) ?? NO_COSTS
        return {
          json: orderJson(order, costs, coinUsdUnits),
          afterCommit: () => tell([call.accountId]),
        }
      },
    },
    get_own_locks: {
      read: async (call) => {
        refuseSubKey(call)
        return { json: await ownLocksJson(pool, call, limits) }
      },
    },
  }
}

async function locksJson(pool: Pool, call: ApiCall, limits: LocksLimits) {
  const series = await listSeries(pool, 'living', limits.lockSeriesMax)
  const isKnown = call.caller.kind !== 'nobody'
  const data = await Promise.all(
    series.map(async (one) => ({
      ...seriesJson(one),
      ...(isKnown && one.state === 'open' && { book: await bookJson(pool, one.id, limits) }),
    })),
  )
  return { object: 'locks' as const, rules: rulesJson(limits), data }
}

/** @throws GatewayError lock_series_not_found */
async function oneSeriesJson(pool: Pool, call: ApiCall) {
  const id = call.params['id'] ?? ''
  const series = isId('lock', id) ? await seriesById(pool, id) : undefined
  if (series === undefined) throw new GatewayError('lock_series_not_found')
  return seriesJson(series)
}

async function ownLocksJson(pool: Pool, call: ApiCall, limits: LocksLimits) {
  const { limit, after } = pageOf(call, limits)
  const { accountId } = call
  const [holdings, orders, uses] = await Promise.all([
    holdingsOf(pool, accountId),
    pageOfOrders(pool, accountId, limit + 1, after),
    usesOf(pool, accountId, limit),
  ])
  const costs = await costsOf(
    pool,
    orders.map(({ id }) => id),
  )
  const coinUsdUnits = await coinPrice(pool)
  const known = new Map<string, LockSeries>()
  for (const { seriesId } of [...holdings, ...uses]) {
    const series = known.get(seriesId) ?? (await seriesById(pool, seriesId))
    if (series !== undefined) known.set(seriesId, series)
  }
  const withSeries = <One extends { seriesId: string }, Json>(
    list: readonly One[],
    json: (one: One, of: LockSeries) => Json,
  ) =>
    list.flatMap((one) => {
      const series = known.get(one.seriesId)
      return series === undefined ? [] : [json(one, series)]
    })
  return {
    object: 'own_locks' as const,
    holdings: withSeries(holdings, holdingJson),
    orders: listJson(
      orders.map((order) => orderJson(order, costs.get(order.id) ?? NO_COSTS, coinUsdUnits)),
      limit,
    ),
    uses: withSeries(uses, useJson),
  }
}

function quoteJson(
  { id, matched, fillableMicros, validUntilMs }: LockQuote,
  series: LockSeries,
  micros: number,
  coinUsdUnits: number,
  limits: LocksLimits,
) {
  const amount = (nanos: number) => coinAmountJson(coinAmount(nanos, coinUsdUnits))
  const averageNanos = (BigInt(matched.costNanos) * BigInt(MICROS_PER_TOKEN)) / BigInt(micros)
  return {
    object: 'lock_quote' as const,
    id,
    series: series.id,
    side: 'buy' as const,
    tokens: formatTokens(micros),
    fillable: formatTokens(fillableMicros),
    depth: levelsOf(matched.fills, limits.lockBookLevelsMax),
    average_price: coinDecimal(Number(averageNanos)),
    cost: amount(matched.costNanos),
    fee: amount(matched.feeNanos),
    total: amount(matched.costNanos + matched.feeNanos),
    valid_until: new Date(validUntilMs).toISOString(),
  }
}

async function readOrder(call: ApiCall, client: Client, series: LockSeries): Promise<WantedOrder> {
  const { accountId, body, caller } = call
  const [side, quote] = [body['side'] === 'sell' ? 'sell' : 'buy', body['quote']] as const
  const isMarket = body['type'] === 'market'
  const micros = readLots(call)
  const spender = caller.kind === 'key' ? { spender: caller } : {}
  if (isMarket && body['price'] !== undefined)
    throw invalidRequest('A market order has no price; leave it out.', 'price')
  if (quote !== undefined && (!isMarket || side !== 'buy')) {
    throw invalidRequest('A quote is for a buy at market; leave it out.', 'quote')
  }
  const wanted = { accountId, side, priceNanos: isMarket ? undefined : readPrice(call), micros, ...spender }
  if (typeof quote !== 'string') return wanted
  return { ...wanted, costMaxNanos: await takeQuote(client, quote, { accountId, seriesId: series.id, micros }) }
}

function readLots({ body }: ApiCall): number {
  const micros = parseTokens(String(body['tokens']))
  if (micros !== undefined && micros > 0 && micros % LOT_MICROS === 0) return micros
  throw invalidRequest(`tokens must be a multiple of ${formatTokens(LOT_MICROS)} above zero, such as "2.5".`, 'tokens')
}

function readPrice({ body }: ApiCall): number {
  const nanos = typeof body['price'] === 'string' ? parseUsd(body['price']) : undefined
  if (nanos !== undefined && nanos > 0 && nanos % TICK_NANOS === 0) return nanos
  const tick = coinDecimal(TICK_NANOS)
  throw invalidRequest(`A limit order needs price, a multiple of ${tick} coin above zero, such as "0.125".`, 'price')
}

async function refuseTooManyOrders(
  client: Client,
  accountId: string,
  seriesId: string,
  limits: LocksLimits,
): Promise<void> {
  const max = limits.lockOrdersOpenMax
  const refusal = () => invalidRequest(`An account has at most ${max} open orders; cancel one.`)
  await refuseTooMany(client, accountId, countOpenOrders, max, refusal)
  if ((await countOtherSeries(client, accountId, seriesId)) < limits.lockSeriesPerAccountMax) return
  throw invalidRequest(`An account holds or orders tokens of at most ${limits.lockSeriesPerAccountMax} series.`)
}
