import { statedUnits } from '../../runtime/files/statedUnits.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import { completeBatchRates } from './batchRates.ts'
import type { AmountsContent, PriceContent } from './catalogContent.ts'
import { AMOUNT_KEYS, type Price } from './price.ts'

/** Reads the `price` (or `price_private`) of a model; invalid batch rates are recorded on the file. */
export function readPrice(file: YamlFile, path: Path, content: PriceContent): Price {
  const { long_context: longContent, sizes } = content
  const base = { path, amounts: amountsOf(content) }
  const long = longContent && { path: [...path, 'long_context'], amounts: amountsOf(longContent) }
  completeBatchRates(file, base, long)
  const price: { -readonly [K in keyof Price]: Price[K] } = { amounts: base.amounts }
  if (longContent && long) price.longContext = { threshold: longContent.threshold, amounts: long.amounts }
  if (sizes) price.sizes = new Map(Object.entries(sizes).map(([size, usd]) => [size, statedUnits(usd)]))
  return price
}

/** The amounts in the order of the price sheet, regardless of their order in the file. */
function amountsOf(content: AmountsContent): Map<string, number> {
  const amounts = new Map<string, number>()
  for (const key of AMOUNT_KEYS) {
    const usd = content[key]
    if (usd !== undefined) amounts.set(key, statedUnits(usd))
  }
  return amounts
}
