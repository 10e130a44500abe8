import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { ObjectSchema } from '../../contract/api/route.ts'
import { parseDay, parseTime } from '../../contract/api/time.ts'
import { type GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import { parseUsd } from '../../contract/money/units.ts'

const LONE_SURROGATE = /\p{Surrogate}/u

const FORMATS = {
  // A lone surrogate has no UTF-8 encoding, and the database rejects it.
  text: (text: string) => !LONE_SURROGATE.test(text),
  usd: (text: string) => parseUsd(text) !== undefined,
  time: (text: string) => parseTime(text) !== undefined,
  day: (text: string) => parseDay(text) !== undefined,
}

type Fields = Readonly<Record<string, unknown>>

/** The functions that check by a schema, each compiled once. A test checks the schemas themselves by the meta-schema. */
class Checks {
  private readonly ajv: Ajv2020
  private readonly compiled = new Map<ObjectSchema, ValidateFunction>()

  constructor(coerceTypes: boolean) {
    this.ajv = new Ajv2020({
      coerceTypes,
      formats: FORMATS,
      verbose: true,
      allowUnionTypes: true,
      validateSchema: false,
      code: { optimize: false },
    })
  }

  of(schema: ObjectSchema): ValidateFunction {
    let validate = this.compiled.get(schema)
    if (validate === undefined) {
      validate = this.ajv.compile(schema)
      this.compiled.set(schema, validate)
    }
    return validate
  }
}

const bodies = new Checks(false)
/** Everything in a query is text, so that numbers are read from it. */
const queries = new Checks(true)

/** Checks the body of a request. @throws GatewayError invalid_request naming the invalid field and its rule */
export function checkBody(schema: ObjectSchema, body: Fields): Fields {
  return check(bodies.of(schema), schema, body, 'field')
}

/** Reads and checks the query of a request. @throws GatewayError invalid_request */
export function checkQuery(schema: ObjectSchema, text: string): Fields {
  const fields = Object.create(null) as Record<string, unknown>
  for (const [name, value] of new URLSearchParams(text)) {
    if (Object.hasOwn(fields, name)) throw invalidRequest(`${name} is given twice; send it once.`, name)
    fields[name] = value
  }
  return check(queries.of(schema), schema, fields, 'query parameter')
}

function check(validate: ValidateFunction, schema: ObjectSchema, fields: Fields, kind: string): Fields {
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
