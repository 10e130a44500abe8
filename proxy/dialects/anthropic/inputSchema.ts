import { canonicalJson } from '../../../contract/payments/canonicalJson.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { requiredIn, soundSchema } from '../shared/soundSchema.ts'
import { currentSchema } from './currentSchema.ts'

const ANY_INPUT: JsonObject = { type: 'object', properties: {} }
const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const
/** The names of members that the format takes. */
const MEMBER = /^[\w.-]{1,64}$/
const DEFINITION = /^#\/(\$defs|definitions)\/([^/]+)$/

/**
 * The parameters of a tool as the Messages format takes them: an object by name, without a union or a reference at the top,
 * whose members become its own, in the words of the newest draft. Members that only some of a union require are not required.
 */
export function inputSchema(parameters: unknown): JsonObject {
  if (!isJsonObject(parameters)) return ANY_INPUT
  const { type } = parameters
  const isNamed = typeof type === 'string' || type === undefined
  const own: JsonObject = isNamed ? { type: 'object', ...parameters } : { ...parameters, type: 'object' }
  const sound = soundSchema(own)
  return currentSchema(isComposed(sound) ? withoutUnions(sound) : sound)
}

/**
 * The parameters of a tool without the members whose names the Messages format refuses, which the description names.
 * @returns the same object where there are none
 */
export function withNamesTaken(schema: JsonObject): JsonObject {
  const { properties, required, description } = schema
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  const refused = new Set<unknown>(names.filter((name) => !MEMBER.test(name)))
  if (refused.size === 0) return schema
  const taken = Object.entries(properties as JsonObject).filter(([name]) => !refused.has(name))
  const note = `Members that cannot be set: ${[...refused].join(', ')}`
  return {
    ...schema,
    properties: Object.fromEntries(taken),
    description: typeof description === 'string' ? `${description}\n\n${note}` : note,
    ...(Array.isArray(required) && { required: required.filter((name) => !refused.has(name)) }),
  }
}

/** Whether a schema says what an object is by a union or a reference. */
export function isComposed(schema: JsonObject): boolean {
  return '$ref' in schema || UNIONS.some((name) => name in schema)
}

function withoutUnions(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, allOf, $ref: reference, ...own } = schema
  const merged: Merged = { properties: new Map(), required: new Set() }
  const all = [...listOf(allOf), ...(reference === undefined ? [] : [{ $ref: reference }])]
  for (const part of [own, ...all.map((one) => found(one, schema))]) {
    addMembers(part, merged)
    for (const name of requiredIn(part)) merged.required.add(name)
  }
  for (const choices of [listOf(anyOf), listOf(oneOf)]) {
    const parts = choices.map((one) => found(one, schema))
    for (const part of parts) addMembers(part, merged)
    const [first, ...others] = parts.map(requiredIn)
    for (const name of first ?? []) if (others.every((names) => names.has(name))) merged.required.add(name)
  }
  const { required, ...rest } = own
  const names = [...merged.required]
  return {
    ...rest,
    properties: Object.fromEntries(
      [...merged.properties].map(([name, schemas]) => [name, oneOfAll([...schemas.values()])]),
    ),
    ...((required !== undefined || names.length > 0) && { required: names }),
  }
}

interface Merged {
  /** The schemas of each member, each once, by what they say. */
  readonly properties: Map<string, Map<string, unknown>>
  readonly required: Set<string>
}

function addMembers({ properties }: JsonObject, merged: Merged): void {
  if (!isJsonObject(properties)) return
  for (const [name, schema] of Object.entries(properties)) {
    const known = merged.properties.get(name) ?? new Map<string, unknown>()
    const said = canonicalJson(schema)
    if (!known.has(said)) known.set(said, schema)
    merged.properties.set(name, known)
  }
}

function oneOfAll(schemas: readonly unknown[]): unknown {
  return schemas.length === 1 ? schemas[0] : { anyOf: schemas }
}

/** A part of a union, or the definition that it refers to; nothing for one that is elsewhere. */
function found(part: JsonObject, schema: JsonObject): JsonObject {
  const { $ref: reference } = part
  if (typeof reference !== 'string') return part
  const [, place = '', name = ''] = DEFINITION.exec(reference) ?? []
  const definitions = schema[place]
  const definition = isJsonObject(definitions) ? definitions[name] : undefined
  return isJsonObject(definition) ? definition : {}
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
