import type { Logger } from 'pino'
import { DAY_MS } from '../../contract/api/time.ts'
import { OTHERS } from '../book/statistics/cell.ts'
import { readUncounted } from '../book/statistics/countReceipts.ts'
import { allTokens, pricedTokens, readModelSums } from '../book/statistics/publicStatistics.ts'
import { sizeOf } from '../book/usagelog/stretches.ts'
import type { Limits } from '../limits.ts'
import type { Pool, Queryable } from '../runtime/db/pool.ts'
import { Loop } from '../runtime/loop.ts'
import { type Basket, type BasketItem, insertBasket, readBaskets } from './basket.ts'
import { PriceIndexes } from './priceIndex.ts'
import { readSheetPrices } from './sheetHistory.ts'

/** The tokens of every model in a basket as long as there are no usage statistics. */
const EQUAL_TOKENS = { input: 3_000_000, cached_input: 0, cache_write_5m: 0, cache_write_1h: 0, output: 1_000_000 }

/** Makes the baskets of the price index: one from the first price sheet, and one once the base period is over. */
export class BasketKeeper {
  private readonly loop: Loop

  constructor({ pool, log, limits }: { pool: Pool; log: Logger; limits: Limits }) {
    this.loop = new Loop('baskets', limits.indexBasketMs, log, () => makeBaskets(pool, limits))
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }
}

/** Makes the baskets that are missing and can be made. @param nowMs milliseconds since 1970 */
export async function makeBaskets(db: Queryable, limits: Limits, nowMs: number = Date.now()): Promise<void> {
  const weights = (await readBaskets(db)).map((basket) => basket.weights)
  for (const [name, make] of [['equal', equalBasket] as const, ['tokens', tokenBasket] as const]) {
    const basket = weights.includes(name) ? undefined : await make(db, limits, nowMs)
    if (basket !== undefined) await insertBasket(db, basket)
  }
}

/** The same of every model on the first sheet that has any that is priced by the token. */
async function equalBasket(db: Queryable, limits: Limits): Promise<Omit<Basket, 'id'> | undefined> {
  for (let version = 0; ; ) {
    const sheets = await readSheetPrices(db, version, limits.indexSheetsPage)
    const found = sheets.find(({ rates }) => rates.size > 0)
    if (found !== undefined) {
      const models = [...found.rates.keys()].sort().slice(0, limits.indexModelsMax)
      const items = models.map((model) => ({ model, tokens: EQUAL_TOKENS }))
      return { weights: 'equal', baseFrom: found.day, baseTo: found.day, items }
    }
    if (sheets.length < limits.indexSheetsPage) return undefined
    version = sheets.at(-1)?.version ?? version
  }
}

/** The basket by the statistics of the base period, once all of that period is counted. */
async function tokenBasket(db: Queryable, limits: Limits, nowMs: number): Promise<Omit<Basket, 'id'> | undefined> {
  const { rows } = await db.query<{ day: number | null }>(
    `SELECT min(day) AS day FROM public_statistics WHERE day >= 0 AND model <> '${OTHERS}'`,
  )
  const baseFrom = rows[0]?.day ?? null
  if (baseFrom === null) return undefined
  const baseTo = baseFrom + limits.indexBaseDays - 1
  if (baseTo >= Math.floor((nowMs - limits.statisticsFoldMs) / DAY_MS)) return undefined
  if (sizeOf(await readUncounted(db)) > limits.statisticsReceiptsMax) return undefined
  const sums = (await readModelSums(db, baseFrom, baseTo))
    .filter((row) => row.model !== OTHERS && allTokens(row) > 0)
    .sort((a, b) => allTokens(b) - allTokens(a) || (a.model < b.model ? -1 : 1))
  const all: Basket = { id: 0, weights: 'tokens', baseFrom, baseTo, items: sums.map(itemOf) }
  const prices = await new PriceIndexes(db, limits).of(all)
  const priced = all.items.filter(({ model }) => prices.basePriceOf(model) !== undefined)
  const items = priced.slice(0, limits.indexModelsMax).sort((a, b) => (a.model < b.model ? -1 : 1))
  return items.length === 0 ? undefined : { weights: 'tokens', baseFrom, baseTo, items }
}

function itemOf(sums: Awaited<ReturnType<typeof readModelSums>>[number]): BasketItem {
  return {
    model: sums.model,
    tokens: pricedTokens(sums),
  }
}
