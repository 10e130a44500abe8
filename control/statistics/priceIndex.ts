import type { RateSet } from '../../contract/money/charge.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { type Basket, type BasketItem, basketOf, costOf } from './basket.ts'
import { quotient } from './decimal.ts'
import type { StatisticsLimits } from './limits.ts'
import { readSheetPrices, type SheetPrices } from './sheetHistory.ts'

const VALUE_PLACES = 4
const BASE_VALUE = 100n

/** The cost of a basket from one sheet until the next. */
interface Step {
  readonly day: number
  readonly version: number
  readonly cost: bigint
}

/** The price index of a basket: its cost in percent of its cost on the base day (Laspeyres). */
export class PriceIndex {
  readonly basket: Basket
  private readonly steps: Step[] = []
  /** The last price of each model of the basket; removed models keep theirs. */
  private readonly prices = new Map<string, RateSet>()
  private readonly leftDays = new Map<string, number>()
  private readonly items: ReadonlyMap<string, BasketItem>
  private basePrices: ReadonlyMap<string, RateSet> = new Map()

  constructor(basket: Basket) {
    this.basket = basket
    this.items = new Map(basket.items.map((item) => [item.model, item]))
  }

  /** Takes the next sheet, in the order of their versions. */
  add({ version, day, rates }: SheetPrices): void {
    for (const model of this.items.keys()) {
      const found = rates.get(model)
      if (found !== undefined) {
        this.prices.set(model, found)
        this.leftDays.delete(model)
      } else if (this.prices.has(model) && !this.leftDays.has(model)) {
        this.leftDays.set(model, day)
      }
    }
    if (day <= this.basket.baseDay) this.basePrices = new Map(this.prices)
    this.steps.push({ day, version, cost: this.costAt(this.prices) })
  }

  /** The value at the end of a day, with the sheet that it is by; undefined before the base day, or where nothing costs. */
  valueOn(day: number): { value: string; version: number } | undefined {
    if (day < this.basket.baseDay) return undefined
    const step = this.steps.findLast((each) => each.day <= day)
    const base = this.costAt(this.basePrices)
    if (step === undefined || base === 0n) return undefined
    return { value: quotient(step.cost * BASE_VALUE, base, VALUE_PLACES), version: step.version }
  }

  /** The prices of the base day. */
  basePriceOf(model: string): RateSet | undefined {
    return this.basePrices.get(model)
  }

  /** The day of the sheet that removed the model, after which the index continues without it; undefined while it is sold. */
  leftOn(model: string): number | undefined {
    return this.leftDays.get(model)
  }

  /** The share of a model in the costs of the base day. */
  shareOf(item: BasketItem): string {
    const base = this.costAt(this.basePrices)
    const rates = this.basePrices.get(item.model)
    return base === 0n || rates === undefined ? '0' : quotient(costOf(item, rates), base, VALUE_PLACES)
  }

  /** Baskets have only models that have a base price, and prices stay: every sum is over the same models. */
  private costAt(prices: ReadonlyMap<string, RateSet>): bigint {
    let cost = 0n
    for (const [model, item] of this.items) {
      const rates = prices.get(model)
      if (rates !== undefined) cost += costOf(item, rates)
    }
    return cost
  }
}

/** Keeps the price index by the sheets that were published; sheets never change, so each is read once. */
export class PriceIndexes {
  private readonly db: Queryable
  private readonly limits: StatisticsLimits
  private index: PriceIndex | undefined
  /** The version of the last sheet that was read, or 0. */
  private version = 0
  private reading: Promise<unknown> = Promise.resolve()

  constructor(db: Queryable, limits: StatisticsLimits) {
    this.db = db
    this.limits = limits
  }

  /** The index with all sheets that there are; undefined before the first sheet that prices a model by the token. */
  async current(): Promise<PriceIndex | undefined> {
    // One after the other, so that each sheet is added once.
    const read = this.reading.catch(() => {}).then(() => this.readOn())
    this.reading = read
    return read
  }

  private async readOn(): Promise<PriceIndex | undefined> {
    const { indexSheetsPage, indexModelsMax } = this.limits
    for (;;) {
      const sheets = await readSheetPrices(this.db, this.version, indexSheetsPage)
      for (const sheet of sheets) {
        if (sheet.rates.size > 0) this.index ??= new PriceIndex(basketOf(sheet, indexModelsMax))
        this.index?.add(sheet)
        this.version = sheet.version
      }
      if (sheets.length < indexSheetsPage) return this.index
    }
  }
}
