import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { mapSchema } from '../shared/soundSchema.ts'

const LIMITS = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const

/**
 * A schema in the words of draft 2020-12 of JSON Schema, which the format demands; many packages write older ones, in which a
 * list of `items` says what each place holds, and a limit is said to be exclusive by true.
 * @returns the same object where nothing has to be changed
 */
export function currentSchema(schema: JsonObject): JsonObject {
  return mapSchema(schema, (one) => withLimits(withPlaces(one)))
}

// Providers of the OpenAI dialect, which get the same schemas, refuse lists without `items`.
function withPlaces(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema
  if (!Array.isArray(items)) return schema
  return { ...rest, ...(items.length > 0 && { prefixItems: items }), items: additionalItems ?? {} }
}

function withLimits(schema: JsonObject): JsonObject {
  let current = schema
  for (const [exclusive, limit] of LIMITS) {
    const isExclusive = current[exclusive]
    if (typeof isExclusive !== 'boolean') continue
    const { [exclusive]: _flag, [limit]: bound, ...rest } = current
    current = bound === undefined ? rest : { ...rest, [isExclusive ? exclusive : limit]: bound }
  }
  return current
}
