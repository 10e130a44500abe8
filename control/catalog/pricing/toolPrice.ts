import { formatUsd, parseUsd } from '../../../contract/money/units.ts'
import { isWithinMargin, TOOL_MARGIN_PERCENT_MAX, type ToolRates } from '../../../contract/tools/rates.ts'
import { statedUnits } from '../../runtime/files/statedUnits.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import type { ToolPriceContent } from './catalogContent.ts'

/** A price by call, or by base and result; amounts in units. */
export interface ToolPrice extends ToolRates {
  /** Results are priced too, possibly at zero. */
  readonly perResult: boolean
}

/** A price as clients see it: decimal strings of USD. */
export type ToolPriceJson = { readonly call: string } | { readonly base: string; readonly result: string }

const FREE: ToolPrice = { callUnits: 0, resultUnits: 0, perResult: false }

export function toolPriceJson({ callUnits, resultUnits, perResult }: ToolPrice): ToolPriceJson {
  if (!perResult) return { call: formatUsd(callUnits) }
  return { base: formatUsd(callUnits), result: formatUsd(resultUnits) }
}

/** Reads a price back out of a published sheet; a malformed amount counts as zero. */
export function toolPriceFromJson(json: ToolPriceJson): ToolPrice {
  if ('call' in json) return { ...FREE, callUnits: parseUsd(json.call) ?? 0 }
  return { callUnits: parseUsd(json.base) ?? 0, resultUnits: parseUsd(json.result) ?? 0, perResult: true }
}

/** `price` or `cost` of a tool: `{ call: USD }`, or `{ base: USD, result: USD }`, as its schema has checked. */
export function readToolPrice({ call, base, result }: ToolPriceContent): ToolPrice {
  if (call !== undefined) return { ...FREE, callUnits: statedUnits(call) }
  return { callUnits: statedUnits(base ?? '0'), resultUnits: statedUnits(result ?? '0'), perResult: true }
}

/** Refuses a price that is more than the margin above its cost. */
export function checkMargin(file: YamlFile, path: Path, price: ToolPrice, cost: ToolPrice): void {
  if (price.perResult !== cost.perResult) {
    file.problem(path, 'must have the same members as cost')
    return
  }
  const fits = isWithinMargin(price.callUnits, cost.callUnits) && isWithinMargin(price.resultUnits, cost.resultUnits)
  if (!fits) file.problem(path, `must be at most ${TOOL_MARGIN_PERCENT_MAX} % above cost`)
}
