import { DAY_MS, formatDay } from '../../contract/api/time.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import type { RateSet } from '../../contract/money/charge.ts'
import { formatUsd } from '../../contract/money/units.ts'
import { type BasketItem, CLASSES } from './basket.ts'
import type { StatisticsLimits } from './limits.ts'
import { type Period, periodOf } from './period.ts'
import type { PriceIndex, PriceIndexes } from './priceIndex.ts'

const DAYS_USUAL = 30
/** The number of the one basket; clients may name it. */
const BASKET_ID = 1

/**
 * GET /v1/index.
 * @param query as the schema of the route has checked it
 * @throws GatewayError not_found where there is no such basket
 */
export async function indexJson(
  indexes: PriceIndexes,
  query: Readonly<Record<string, unknown>>,
  limits: StatisticsLimits,
  nowMs: number = Date.now(),
) {
  const asked = query['basket']
  const every = query['every'] === 'month' ? 'month' : 'day'
  const period = periodOf(Number(query['days'] ?? Math.min(DAYS_USUAL, limits.indexDaysMax)), query['to'], nowMs)
  const shown = { ...period, toDay: Math.min(period.toDay, Math.floor(nowMs / DAY_MS)) }
  const index = await indexes.current()
  if (asked !== undefined && (index === undefined || asked !== BASKET_ID)) {
    throw new GatewayError('not_found', { message: `There is no basket ${asked}.` })
  }
  return {
    object: 'price_index' as const,
    method: 'laspeyres' as const,
    base_value: '100',
    every,
    from: formatDay(period.fromDay),
    to: formatDay(period.toDay),
    basket: index === undefined ? null : basketJson(index),
    baskets: index === undefined ? [] : [BASKET_ID],
    data: index === undefined ? [] : valuesJson(index, shown, every),
  }
}

function valuesJson(index: PriceIndex, { fromDay, toDay }: Period, every: 'day' | 'month') {
  const values = []
  for (let day = fromDay; day <= toDay; day++) {
    if (every === 'month' && day !== toDay && !endsMonth(day)) continue
    const found = index.valueOn(day)
    if (found === undefined) continue
    const { value, version } = found
    values.push({ object: 'index_value' as const, day: formatDay(day), value, price_sheet: String(version) })
  }
  return values
}

function endsMonth(day: number): boolean {
  return formatDay(day).slice(0, 7) !== formatDay(day + 1).slice(0, 7)
}

function basketJson(index: PriceIndex) {
  const { baseDay, items } = index.basket
  const day = formatDay(baseDay)
  return {
    object: 'index_basket' as const,
    id: BASKET_ID,
    weights: 'equal' as const,
    base: { from: day, to: day },
    models: items.map((item) => itemJson(index, item)),
  }
}

function itemJson(index: PriceIndex, item: BasketItem) {
  const { model, tokens } = item
  const [base, left] = [index.basePriceOf(model), index.leftOn(model)]
  return {
    model,
    tokens,
    base_price: base === undefined ? null : priceJson(base),
    share: index.shareOf(item),
    left_on: left === undefined ? null : formatDay(left),
  }
}

/** USD per million tokens. */
function priceJson(rates: RateSet): Record<string, string> {
  return Object.fromEntries(CLASSES.map(([name, rate]) => [name, formatUsd(rates[rate])]))
}
