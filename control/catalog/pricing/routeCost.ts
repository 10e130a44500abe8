import { COUNTED_BY, type Modality } from '../../../contract/catalog/catalog.ts'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { TOKEN_KEYS } from './price.ts'
import { usdOf } from './values.ts'
import type { Field, YamlReader } from './yamlReader.ts'

/** Prompts are about three times as long as their answers; the usual blend of prices where routes are compared. */
const INPUT_PARTS = 3

/**
 * Reads what a route's provider charges, stated with the keys of the model's price, as the one number that `:cheapest`
 * orders routes by: for tokens three parts input and one part output, else the price of what is counted. It is never
 * shown to clients.
 * @returns units, at most MAX_UNITS; undefined when nothing is stated
 */
export function readRouteCost(reader: YamlReader, field: Field | undefined, modality: Modality): number | undefined {
  if (field === undefined) return undefined
  const counted = COUNTED_BY[modality]
  const required = counted !== '' ? [counted] : modality === 'chat' ? ['input', 'output'] : ['input']
  const optional = modality === 'chat' ? TOKEN_KEYS.slice(2) : []
  const map = reader.map(field, [...required, ...optional])
  for (const key of optional) {
    const entry = map.get(key)
    if (entry) usdOf(reader, entry)
  }
  const amount = (key: string): number => {
    const entry = map.get(key)
    return entry === undefined ? 0 : usdOf(reader, entry)
  }
  for (const key of required) reader.required(map, field, key)
  const cost = counted === '' ? INPUT_PARTS * amount('input') + amount('output') : amount(counted)
  return Math.min(cost, MAX_UNITS)
}
