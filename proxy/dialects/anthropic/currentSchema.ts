import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { MAPS, PARTS } from '../shared/soundSchema.ts'

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
  const whole = mapped(schema, (value, name) => {
    if (MAPS.has(name)) return isJsonObject(value) ? mapped(value, currentPart) : value
    return PARTS.has(name) ? currentPart(value) : value
  })
  return withLimits(withPlaces(whole))
}

function currentPart(part: unknown): unknown {
  if (isJsonObject(part)) return currentSchema(part)
  if (!Array.isArray(part)) return part
  const current = part.map(currentPart)
  return current.some((one, i) => one !== part[i]) ? current : part
}

function mapped(holder: JsonObject, change: (value: unknown, name: string) => unknown): JsonObject {
  let copy: JsonObject | undefined
  for (const name in holder) {
    const changed = change(holder[name], name)
    if (changed === holder[name]) continue
    copy ??= { ...holder }
    copy[name] = changed
  }
  return copy ?? holder
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
