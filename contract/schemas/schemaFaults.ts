import { readFileSync } from 'node:fs'
import { Ajv2020, type AnySchemaObject, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import { parseUsd } from '../money/units.ts'

/** Keywords of the schemas in addition to those of JSON Schema; environment.schema.json explains them. */
export const ANNOTATIONS = ['errorMessage', 'readBy', 'requiredBy'] as const

const FORMATS = {
  uri: (text: string) => URL.canParse(text),
  usd: (text: string) => parseUsd(text) !== undefined,
}

/** A JSON Schema (2020-12). */
export type Schema = AnySchemaObject

/** A value that its schema refuses. */
export interface SchemaFault {
  /** Names and indices from the root to the value. */
  readonly path: readonly string[]
  /** Continues the name of the value: "must be a list". */
  readonly text: string
}

/** Checks a value, fills in defaults of the schema, and returns all faults; an empty array when the value is valid. */
export type SchemaCheck = (value: unknown) => SchemaFault[]

/** Reads one of the schemas of this folder. @param name as in `catalog` of catalog.schema.json */
export function readSchema(name: 'catalog' | 'payments' | 'environment'): Schema {
  const text = readFileSync(new URL(`./${name}.schema.json`, import.meta.url), 'utf8')
  return JSON.parse(text) as Schema
}

/**
 * A check by one of the project's own schemas. The schema is compiled at the first value, because every program and every
 * command loads schemas that it may never use, and is not checked by the meta-schema, which a test does in its place: both take
 * longer than a program takes to start. @throws Error at the first value for a schema with unknown keywords
 */
export function compileSchema(schema: Schema): SchemaCheck {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= ajvOf({ validateSchema: false, code: { optimize: false } }).compile(schema)
    return validate(value) ? [] : faultsOf(validate.errors ?? [])
  }
}

/** Compiles a schema and checks it by the meta-schema of JSON Schema. @throws Error when it is not one */
export function assertSchema(schema: Schema): void {
  ajvOf({}).compile(schema)
}

function ajvOf(options: Options): Ajv2020 {
  return new Ajv2020({
    allErrors: true,
    verbose: true,
    useDefaults: true,
    keywords: [...ANNOTATIONS],
    strictTypes: true,
    allowUnionTypes: true,
    formats: FORMATS,
    ...options,
  })
}

/** One fault for each value, in place of all violations of its schema. */
function faultsOf(errors: readonly ErrorObject[]): SchemaFault[] {
  const faults = new Map<string, SchemaFault>()
  // A fault of the value alone is preferred over one that depends on the values next to it.
  const general = errors.filter(({ schemaPath }) => !schemaPath.includes('/then/'))
  for (const error of new Set([...general, ...errors])) {
    // A failed condition is reported by the fault of its branch; a failed choice, which has many branches, as a whole.
    if (error.keyword === 'if' || error.schemaPath.includes('/anyOf/')) continue
    const fault = faultOf(error)
    const key = fault.path.join('/')
    if (!faults.has(key)) faults.set(key, fault)
  }
  return [...faults.values()]
}

function faultOf(error: ErrorObject): SchemaFault {
  const path = error.instancePath.split('/').slice(1).map(unescaped)
  const { keyword, params } = error
  const schema: Schema = error.parentSchema ?? {}
  const ownText: unknown = schema['errorMessage']
  if (keyword === 'required') {
    if (typeof ownText === 'string') return { path, text: ownText }
    return { path: [...path, String(params['missingProperty'])], text: 'is missing' }
  }
  if (keyword === 'uniqueItems') {
    const repeated = Math.max(Number(params['i']), Number(params['j']))
    return { path: [...path, String(repeated)], text: `repeats ${String((error.data as unknown[])[repeated])}` }
  }
  if (keyword === 'dependentRequired') {
    return { path, text: `has ${String(params['property'])} but no ${String(params['missingProperty'])}` }
  }
  if (keyword === 'additionalProperties') {
    const known = Object.keys((schema['properties'] as object | undefined) ?? {})
    const text = typeof ownText === 'string' ? ownText : `is not a known key; known here: ${known.join(', ')}`
    return { path: [...path, String(params['additionalProperty'])], text }
  }
  return { path, text: typeText(error) ?? (typeof ownText === 'string' ? ownText : plainText(error)) }
}

/** The message for a value of the wrong type, independent of the schema's rules for its content. */
function typeText({ keyword, params }: ErrorObject): string | undefined {
  if (keyword !== 'type') return undefined
  if (params['type'] === 'object') return 'must be a map of names to values'
  if (params['type'] === 'array') return 'must be a list'
  return params['type'] === 'boolean' ? 'must be true or false' : undefined
}

function plainText({ keyword, params, message }: ErrorObject): string {
  if (keyword === 'enum') return `must be one of: ${(params['allowedValues'] as unknown[]).join(', ')}`
  return message ?? 'does not hold'
}

/** A segment of a JSON Pointer (RFC 6901). */
function unescaped(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}
