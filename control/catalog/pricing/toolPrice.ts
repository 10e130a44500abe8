import { formatUsd, parseUsd } from '../../../contract/money/units.ts'
import { isWithinMargin, TOOL_MARGIN_PERCENT_MAX, type ToolRates } from '../../../contract/tools/rates.ts'
import { usdOf } from './values.ts'
import type { Field, YamlReader } from './yamlReader.ts'

/** A price by call, or by base and result; amounts in units. */
export interface ToolPrice extends ToolRates {
  /** Results are priced too, be it at nothing. */
  readonly perResult: boolean
}

/** A price as clients see it: decimal strings of USD. */
export type ToolPriceJson = { readonly call: string } | { readonly base: string; readonly result: string }

const FREE: ToolPrice = { callUnits: 0, resultUnits: 0, perResult: false }

export function toolPriceJson({ callUnits, resultUnits, perResult }: ToolPrice): ToolPriceJson {
  if (!perResult) return { call: formatUsd(callUnits) }
  return { base: formatUsd(callUnits), result: formatUsd(resultUnits) }
}

/** Reads a price back out of a published sheet; what is no amount is nothing. */
export function toolPriceFromJson(json: ToolPriceJson): ToolPrice {
  if ('call' in json) return { ...FREE, callUnits: parseUsd(json.call) ?? 0 }
  return { callUnits: parseUsd(json.base) ?? 0, resultUnits: parseUsd(json.result) ?? 0, perResult: true }
}

/** Reads `price` or `cost` of a tool: `{ call: USD }`, or `{ base: USD, result: USD }`. */
export function readToolPrice(reader: YamlReader, field: Field | undefined): ToolPrice {
  if (field === undefined) return FREE
  const map = reader.map(field, ['call', 'base', 'result'])
  const [call, base, result] = [map.get('call'), map.get('base'), map.get('result')]
  if (call !== undefined && base === undefined && result === undefined) {
    return { ...FREE, callUnits: usdOf(reader, call) }
  }
  if (call === undefined && base !== undefined && result !== undefined) {
    return { callUnits: usdOf(reader, base), resultUnits: usdOf(reader, result), perResult: true }
  }
  reader.problem(field, 'must be { call: "USD" }, or { base: "USD", result: "USD" }')
  return FREE
}

/** Refuses a price that is more than the margin above its cost. */
export function checkMargin(reader: YamlReader, field: Field, price: ToolPrice, cost: ToolPrice): void {
  if (price.perResult !== cost.perResult) {
    reader.problem(field, 'must have the same members as cost')
    return
  }
  const fits = isWithinMargin(price.callUnits, cost.callUnits) && isWithinMargin(price.resultUnits, cost.resultUnits)
  if (!fits) reader.problem(field, `must be at most ${TOOL_MARGIN_PERCENT_MAX} % above cost`)
}
