import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { partsOf, requiredIn } from '../shared/soundSchema.ts'

/** Source of the lists: platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations". */
const TAKEN: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  'enum',
  'const',
  'default',
  'required',
  '$ref',
])
const OF_MANY: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])
const FORMATS: ReadonlySet<unknown> = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
)
/** Members that say nothing of the answer. */
const ABOUT_ITSELF: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', 'additionalProperties'])
const DEFINITION = /^#\/(?:\$defs|definitions)\/([^/]+)$/

/** Source: the same page, "Schema complexity limits". */
const UNIONS_MAX = 16
const OPTIONAL_MAX = 24

/** Thrown for a schema that the format has no words for. */
class Unsayable extends Error {}

/**
 * The schema of an answer as the Messages format takes it, which refuses most limits of numbers, texts and lists: they become
 * a part of the description, as in the format's own packages.
 * @returns null for a schema that it cannot express: open objects, references to itself or elsewhere, any value, more unions
 *   or optional members than it takes
 */
export function answerSchema(schema: unknown): JsonObject | null {
  try {
    assertNoLoops(schema)
    const clean = taken(schema)
    const { unions, optional } = complexityOf(clean)
    if (unions > UNIONS_MAX || optional > OPTIONAL_MAX) throw new Unsayable()
    return clean
  } catch (error) {
    if (error instanceof Unsayable) return null
    throw error
  }
}

function taken(schema: unknown): JsonObject {
  if (!isJsonObject(schema) || !isDefinite(schema)) throw new Unsayable()
  const { anyOf, oneOf, allOf } = schema
  if (anyOf !== undefined && oneOf !== undefined) throw new Unsayable()
  if (Array.isArray(allOf) && allOf.some((one: JsonObject) => one?.['$ref'] !== undefined)) throw new Unsayable()
  const clean: JsonObject = {}
  const said: string[] = []
  for (const [name, value] of Object.entries(schema)) {
    if (OF_MANY.has(name)) clean[name] = takenMembers(value)
    else if (name === 'items') clean['items'] = taken(value)
    else if (name === 'anyOf' || name === 'oneOf') clean['anyOf'] = takenList(value)
    else if (name === 'allOf') clean['allOf'] = takenList(value)
    else if (isTaken(name, value)) clean[name] = value
    else if (!ABOUT_ITSELF.has(name)) said.push(`${name}: ${JSON.stringify(value)}`)
  }
  if (isObject(schema)) closeObject(clean, schema)
  if (said.length > 0) {
    const { description } = clean
    const before = typeof description === 'string' && description !== '' ? `${description}\n\n` : ''
    clean['description'] = `${before}{${said.join(', ')}}`
  }
  return clean
}

/** How many unions of types and how many optional members a schema has, those of its parts included. */
function complexityOf(value: unknown): { readonly unions: number; readonly optional: number } {
  if (Array.isArray(value)) return sumOf(value)
  if (!isJsonObject(value)) return { unions: 0, optional: 0 }
  const { type, anyOf, properties } = value
  const { unions, optional } = sumOf(partsOf(value))
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  const needed = requiredIn(value)
  const open = names.filter((name) => !needed.has(name))
  return {
    unions: unions + (Array.isArray(type) || Array.isArray(anyOf) ? 1 : 0),
    optional: optional + open.length,
  }
}

function sumOf(values: readonly unknown[]): { readonly unions: number; readonly optional: number } {
  const all = values.map(complexityOf)
  return {
    unions: all.reduce((sum, { unions }) => sum + unions, 0),
    optional: all.reduce((sum, { optional }) => sum + optional, 0),
  }
}

/** The format takes objects whose members are all named. */
function closeObject(clean: JsonObject, { properties, additionalProperties: more }: JsonObject): void {
  const isMap = isJsonObject(more) || (more === true && !isJsonObject(properties))
  if (isMap || (properties === undefined && more === undefined)) throw new Unsayable()
  clean['properties'] ??= {}
  clean['additionalProperties'] = false
}

function isTaken(name: string, value: unknown): boolean {
  if (name === 'format') return FORMATS.has(value)
  if (name === 'minItems') return value === 0 || value === 1
  if (name === 'enum' && Array.isArray(value) && value.some((one) => typeof one === 'object' && one !== null)) {
    throw new Unsayable()
  }
  return TAKEN.has(name)
}

function isDefinite(schema: JsonObject): boolean {
  return ['type', 'anyOf', 'oneOf', 'allOf', '$ref', 'enum', 'const'].some((name) => schema[name] !== undefined)
}

function isObject({ type }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object'))
}

function takenMembers(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw new Unsayable()
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, taken(schema)]))
}

function takenList(value: unknown): JsonObject[] {
  if (!Array.isArray(value) || value.length === 0) throw new Unsayable()
  return value.map(taken)
}

/** @throws Unsayable for a reference that leads to itself, or out of the schema */
function assertNoLoops(schema: unknown): void {
  if (!isJsonObject(schema)) return
  const definitions = new Map(
    ['$defs', 'definitions'].flatMap((name) => Object.entries(isJsonObject(schema[name]) ? schema[name] : {})),
  )
  /** Whether a definition has been followed to its end. */
  const isDone = new Map<string, boolean>()
  const followTo = (name: string | undefined): void => {
    if (name === undefined || !definitions.has(name) || isDone.get(name) === false) throw new Unsayable()
    if (isDone.get(name) === true) return
    isDone.set(name, false)
    follow(definitions.get(name))
    isDone.set(name, true)
  }
  const follow = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) follow(one)
    if (!isJsonObject(value)) return
    for (const [name, member] of Object.entries(value)) {
      if (name === '$ref' && typeof member === 'string') followTo(DEFINITION.exec(member)?.[1])
      else follow(member)
    }
  }
  follow(schema)
}
