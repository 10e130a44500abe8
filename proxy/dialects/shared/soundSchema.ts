import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

/** Members of a JSON schema that hold schemas by name. */
const MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
/** Members that are a schema or a list of some. */
const PARTS: ReadonlySet<string> = new Set(
  'items prefixItems additionalItems additionalProperties anyOf oneOf allOf not contains propertyNames if then else'.split(
    ' ',
  ),
)
/** Members that may be null. */
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'example'])

/**
 * A JSON schema without what packages of other languages write for nothing, and validators refuse: `[]` for an object without
 * members, as PHP does, and null for a member that is absent, as Go does.
 * @returns the same object where nothing has to be changed
 */
export function soundSchema(schema: JsonObject): JsonObject {
  return mapSchema(schema, (one) =>
    changed(one, (value, name) => {
      if (value === null && !VALUES.has(name)) return undefined
      return MAPS.has(name) && isEmptyList(value) ? {} : value
    }),
  )
}

/**
 * A schema with itself and all schemas in it changed, from the inside out.
 * @returns the same object where nothing is changed
 */
export function mapSchema(schema: JsonObject, change: (schema: JsonObject) => JsonObject): JsonObject {
  const part = (value: unknown): unknown => {
    if (isJsonObject(value)) return mapSchema(value, change)
    if (!Array.isArray(value)) return value
    const parts = value.map(part)
    return parts.some((one, i) => one !== value[i]) ? parts : value
  }
  return change(
    changed(schema, (value, name) => {
      if (MAPS.has(name)) return isJsonObject(value) ? changed(value, part) : value
      return PARTS.has(name) ? part(value) : value
    }),
  )
}

/** The schemas, and lists of some, that a schema consists of. */
export function partsOf(schema: JsonObject): unknown[] {
  return Object.entries(schema).flatMap(([name, value]) => {
    if (MAPS.has(name)) return isJsonObject(value) ? Object.values(value) : []
    return PARTS.has(name) ? [value] : []
  })
}

/** Whether a value stands for an object without members. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** An object with its members changed; those that become undefined are left out. */
function changed(holder: JsonObject, change: (value: unknown, name: string) => unknown): JsonObject {
  let copy: JsonObject | undefined
  for (const name in holder) {
    const value = change(holder[name], name)
    if (value === holder[name]) continue
    copy ??= { ...holder }
    if (value === undefined) delete copy[name]
    else copy[name] = value
  }
  return copy ?? holder
}

/** The names of the members that a schema requires. */
export function requiredIn({ required }: JsonObject): Set<string> {
  return new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [])
}
