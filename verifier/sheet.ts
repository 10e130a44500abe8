import { Failed, must } from './failed.ts'
import { Members } from './members.ts'
import { parseUsd } from './money.ts'

/** Prices by their names, in units. */
export type Prices = ReadonlyMap<string, bigint>

/** The price of a model, as a sheet states it. */
export interface Price {
  readonly amounts: Prices
  /** Prices for prompts of more tokens than the threshold. */
  readonly long?: { readonly threshold: number; readonly amounts: Prices }
  /** Of images, by WxH. */
  readonly sizes: Prices
}

export interface SheetModel {
  /** The unit of a price: million_tokens, image, million_characters, second or search. */
  readonly unit: string
  readonly standard: Price
  readonly private?: Price
}

/** The price of a call, and of each result on top. */
export interface ToolPrice {
  readonly call: bigint
  readonly result: bigint
}

/** The parts of a version of the price sheet that a receipt needs. */
export interface Sheet {
  readonly version: string
  readonly coinUsdUnits: bigint
  /** @throws Failed where the sheet does not sell the model */
  model(id: string): SheetModel
  /** @throws Failed where the sheet does not sell the tool */
  tool(id: string): ToolPrice
}

/** Reads a sheet as GET /v1/pricing/sheets/VERSION has it. @throws Failed that names the invalid member */
export function readSheet(json: unknown): Sheet {
  const sheet = new Members(json, 'sheet')
  const coinUsdUnits = parseUsd(sheet.object('coin').text('usd'))
  must(coinUsdUnits !== undefined && coinUsdUnits > 0n, 'sheet.coin.usd is not a price')
  return {
    version: sheet.text('version'),
    coinUsdUnits,
    model: (id) => modelOf(sheet, id),
    tool: (id) => toolOf(sheet, id),
  }
}

/** The one entry of a list with this id. */
function entryOf(sheet: Members, list: 'models' | 'tools', id: string): Members {
  const found = sheet.has(list) ? sheet.objects(list).filter((entry) => entry.text('id') === id) : []
  const [entry] = found
  if (entry === undefined || found.length > 1) {
    throw new Failed(`price sheet ${sheet.text('version')} has ${found.length} of the ${list} ${id}`)
  }
  return entry
}

function modelOf(sheet: Members, id: string): SheetModel {
  const model = entryOf(sheet, 'models', id)
  const standard = readPrice(model.object('price'))
  const base = { unit: model.text('unit'), standard }
  return model.has('price_private') ? { ...base, private: readPrice(model.object('price_private')) } : base
}

function toolOf(sheet: Members, id: string): ToolPrice {
  const amounts = amountsOf(entryOf(sheet, 'tools', id).object('price'))
  return { call: amounts.get('call') ?? amounts.get('base') ?? 0n, result: amounts.get('result') ?? 0n }
}

/** Reads a price. @throws Failed that names the invalid member */
export function readPrice(price: Members): Price {
  const amounts = amountsOf(price)
  const sizes: Prices = price.has('sizes') ? amountsOf(price.object('sizes')) : new Map()
  if (!price.has('long_context')) return { amounts, sizes }
  const long = price.object('long_context')
  return { amounts, sizes, long: { threshold: long.count('threshold'), amounts: amountsOf(long) } }
}

function amountsOf(prices: Members): Prices {
  const amounts = new Map<string, bigint>()
  for (const [name, usd] of prices.texts()) {
    const units = parseUsd(usd)
    must(units !== undefined, `the sheet has the price ${name} of ${usd}`)
    amounts.set(name, units)
  }
  return amounts
}
