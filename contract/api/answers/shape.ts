import type { JsonSchema, ObjectSchema } from '../route.ts'

/** Parts of the schemas of answers: JSON strings, numbers and booleans. */
export const text: JsonSchema = { type: 'string' }
export const integer: JsonSchema = { type: 'integer' }
export const number: JsonSchema = { type: 'number' }
export const flag: JsonSchema = { type: 'boolean' }
/** A time in ISO 8601, UTC. */
export const time: JsonSchema = { type: 'string', format: 'date-time' }
/** A time in whole seconds since 1970. */
export const seconds: JsonSchema = { type: 'integer', description: 'Seconds since 1970' }
/** A day in UTC. */
export const day: JsonSchema = { type: 'string', format: 'date' }
/** A decimal string, so that nothing is rounded. */
export const decimal: JsonSchema = { type: 'string', format: 'decimal' }

/** This text and no other. */
export const is = (value: string): JsonSchema => ({ type: 'string', const: value })

/** One of these texts. */
export const oneOf = (values: readonly string[]): JsonSchema => ({ type: 'string', enum: values })

export const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

/** An object with any names, each of which has such a value. */
export const mapOf = (values: JsonSchema): JsonSchema => ({ type: 'object', additionalProperties: values })

/** A value of this kind, or null. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { type } = schema
  if (typeof type !== 'string' || 'enum' in schema || 'const' in schema) return { anyOf: [schema, { type: 'null' }] }
  return { ...schema, type: [type, 'null'] }
}

/** The same with a description. */
export const said = (description: string, schema: JsonSchema): JsonSchema => ({ ...schema, description })

/** An object with these members; the names of those that may be absent end in a question mark. */
export function shape(members: Readonly<Record<string, JsonSchema>>): ObjectSchema {
  const named = Object.entries(members).map(([name, schema]) => [name.replace(/\?$/, ''), schema] as const)
  const required = Object.keys(members).filter((name) => !name.endsWith('?'))
  return { type: 'object', properties: Object.fromEntries(named), required }
}

/** The same where a provider may add its own members, which are passed on. */
export const openShape = (members: Readonly<Record<string, JsonSchema>>): ObjectSchema => ({
  ...shape(members),
  additionalProperties: true,
})

/** The members of several shapes in one. */
export function joined(...shapes: readonly ObjectSchema[]): ObjectSchema {
  return {
    type: 'object',
    properties: Object.assign({}, ...shapes.map(({ properties }) => properties)),
    required: shapes.flatMap(({ required }) => required),
  }
}

/** The shape of that name among those of the document. */
export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** A page of a list, the newest first unless its endpoint says otherwise. */
export const pageOf = (items: JsonSchema, more: Readonly<Record<string, JsonSchema>> = {}): ObjectSchema =>
  shape({
    object: is('list'),
    ...more,
    data: list(items),
    has_more: said('Whether there is another page', flag),
  })
