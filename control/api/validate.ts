import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { ObjectSchema } from '../../contract/api/route.ts'
import { parseDay, parseTime } from '../../contract/api/time.ts'
import { type GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import { parseUsd } from '../../contract/money/units.ts'

const LONE_SURROGATE = /\p{Surrogate}/u
const DECIMAL = /^(?:0|[1-9]\d{0,15})$/

const FORMATS = {
  // A lone surrogate has no UTF-8 encoding, and the database rejects it.
  text: (text: string) => !LONE_SURROGATE.test(text),
  usd: (text: string) => parseUsd(text) !== undefined,
  time: (text: string) => parseTime(text) !== undefined,
  day: (text: string) => parseDay(text) !== undefined,
}

type Fields = Readonly<Record<string, unknown>>

const ajv = new Ajv2020({
  formats: FORMATS,
  verbose: true,
  allowUnionTypes: true,
  validateSchema: false,
  code: { optimize: false },
})
const compiled = new Map<ObjectSchema, ValidateFunction>()

/** The function that checks by a schema, compiled once. A test checks the schemas themselves by the meta-schema. */
function checkerOf(schema: ObjectSchema): ValidateFunction {
  let validate = compiled.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(schema)
    compiled.set(schema, validate)
  }
  return validate
}

/** Checks the body of a request. @throws GatewayError invalid_request naming the invalid field and its rule */
export function checkBody(schema: ObjectSchema, body: Fields): Fields {
  return check(schema, body, 'field')
}

/** Reads and checks the query of a request. @throws GatewayError invalid_request */
export function checkQuery(schema: ObjectSchema, text: string): Fields {
  const fields = Object.create(null) as Record<string, unknown>
  for (const [name, value] of new URLSearchParams(text)) {
    if (Object.hasOwn(fields, name)) throw invalidRequest(`${name} is given twice; send it once.`, name)
    const parameter = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (value === '' && parameter !== undefined) {
      throw invalidRequest(`${name} is empty; leave it out, or send ${String(parameter['description'])}.`, name)
    }
    fields[name] = queryValue(parameter?.['type'], value)
  }
  return check(schema, fields, 'query parameter')
}

/** Everything in a query is text. A value of another form stays one, which its schema refuses. */
function queryValue(type: unknown, text: string): unknown {
  if (type === 'integer' && DECIMAL.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function check(schema: ObjectSchema, fields: Fields, kind: string): Fields {
  const validate = checkerOf(schema)
  if (validate(fields)) return fields
  const [fault] = validate.errors ?? []
  throw fault === undefined ? invalidRequest('The request does not fit its schema.') : describe(fault, schema, kind)
}

function describe(fault: ErrorObject, root: ObjectSchema, kind: string): GatewayError {
  const field = fieldName(fault.instancePath)
  const schema = (fault.parentSchema ?? root) as Partial<ObjectSchema> & { description?: string }
  const names = Object.keys(schema.properties ?? {})
  if (fault.keyword === 'additionalProperties') {
    const name = joined(field, String(fault.params['additionalProperty']))
    const known = names.length === 0 ? 'this takes none' : `there are: ${names.join(', ')}`
    return invalidRequest(`There is no ${kind} ${name}; ${known}.`, name)
  }
  if (fault.keyword === 'required') {
    const missing = String(fault.params['missingProperty'])
    const name = joined(field, missing)
    const description = schema.properties?.[missing]?.['description']
    return invalidRequest(`${name} is missing; it must be ${description ?? 'given'}.`, name)
  }
  if (fault.keyword === 'minProperties') {
    return invalidRequest(`Say what to change: ${names.join(', ')}.`, field === '' ? undefined : field)
  }
  return invalidRequest(`${field} must be ${schema.description ?? fault.message}.`, field)
}

const joined = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`)

/** The name of a field as in `models[3]` or `caps.hour`. @param pointer RFC 6901 */
function fieldName(pointer: string): string {
  let name = ''
  for (const segment of pointer.split('/').slice(1)) {
    const text = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    name = /^\d+$/.test(text) ? `${name}[${text}]` : joined(name, text)
  }
  return name
}
