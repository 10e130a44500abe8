import { DATA_POLICIES } from '../../../contract/catalog/catalog.ts'
import { compileInput, type InputSchema } from '../../../contract/tools/inputSchema.ts'
import { isPointer } from '../../../contract/tools/pointer.ts'
import { placesOf, type Template } from '../../../contract/tools/template.ts'
import { checkMargin, readToolPrice, type ToolPrice } from './toolPrice.ts'
import { addressOf, booleanOf, choiceOf, textOf, tokensOf, variableOf } from './values.ts'
import type { Field, YamlReader } from './yamlReader.ts'

const SCHEMA_BYTES_MAX = 16_384
const RESULTS_MAX = 1_000
const TOOL_KEYS = [
  'id',
  'name',
  'description',
  'enabled',
  'data_policy',
  'price',
  'cost',
  'input_schema',
  'limit',
  'results_max',
  'public_url',
  'upstream',
]
const UPSTREAM_KEYS = [
  'base_url',
  'path',
  'method',
  'api_key_env',
  'key_header',
  'request',
  'results',
  'result',
  'output',
  'billed',
  'final_url',
]

/** How the upstream of a tool is asked, and where in its answer things are. Pointers are those of RFC 6901. */
export interface CatalogUpstream {
  readonly baseUrl: string
  readonly path: string
  readonly method: string
  readonly apiKeyEnv: string
  /** '' is Authorization: Bearer. */
  readonly keyHeader: string
  readonly request: Template
  /** The list of results; '' where there is none. */
  readonly results: string
  readonly result: Readonly<Record<string, string>>
  readonly output: Readonly<Record<string, string>>
  /** '' where the upstream does not say. */
  readonly billed: string
  readonly finalUrl: string
}

/** A priced tool of the catalog. */
export interface CatalogTool extends CatalogUpstream {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  /** The upstream keeps what it is sent. */
  readonly retained: boolean
  readonly price: ToolPrice
  readonly cost: ToolPrice
  readonly inputSchema: InputSchema
  /** The member of the input that bounds the results; '' for the same number always. */
  readonly limit: string
  readonly resultsMax: number
  /** The member of the input that is an address on the public internet; '' for none. */
  readonly publicUrl: string
}

/** Reads one entry of `tools`. Its input schema is compiled, so that one that cannot be stops the start. */
export function readTool(reader: YamlReader, field: Field): CatalogTool {
  const map = reader.map(field, TOOL_KEYS)
  const id = toolIdOf(reader, reader.required(map, field, 'id'))
  const priceField = reader.required(map, field, 'price')
  const price = readToolPrice(reader, priceField)
  const cost = readToolPrice(reader, reader.required(map, field, 'cost'))
  if (priceField && map.has('cost')) checkMargin(reader, priceField, price, cost)
  const inputSchema = readSchema(reader, reader.required(map, field, 'input_schema'))
  const upstreamField = reader.required(map, field, 'upstream')
  const tool: CatalogTool = {
    id,
    name: map.has('name') ? textOf(reader, map.get('name')) : id,
    description: textOf(reader, reader.required(map, field, 'description')),
    enabled: booleanOf(reader, map.get('enabled'), true),
    retained:
      (choiceOf(reader, reader.required(map, field, 'data_policy'), DATA_POLICIES) ?? 'retained') === 'retained',
    price,
    cost,
    inputSchema,
    limit: memberOf(reader, map.get('limit'), inputSchema),
    resultsMax: tokensOf(reader, map.get('results_max')),
    publicUrl: memberOf(reader, map.get('public_url'), inputSchema),
    ...readUpstream(reader, upstreamField, inputSchema),
  }
  checkResults(reader, field, map, tool)
  return tool
}

/** Tool ids are one segment of a path. */
function toolIdOf(reader: YamlReader, field: Field | undefined): string {
  if (field === undefined) return ''
  const value = reader.scalar(field)
  if (typeof value === 'string' && /^[a-z0-9][a-z0-9_.-]{0,63}$/.test(value)) return value
  reader.problem(field, 'must be a tool id of 1 to 64 lower-case letters, digits, ".", "_" or "-"')
  return ''
}

function readSchema(reader: YamlReader, field: Field | undefined): InputSchema {
  const nothing = { type: 'object', properties: {} }
  if (field === undefined) return nothing
  const schema = reader.json(field)
  const isObject = typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === 'object'
  if (!isObject) {
    reader.problem(field, 'must be a JSON Schema with type: object')
    return nothing
  }
  const known = schema as InputSchema
  if (JSON.stringify(known).length > SCHEMA_BYTES_MAX) reader.problem(field, `is larger than ${SCHEMA_BYTES_MAX} bytes`)
  if (propertiesOf(known).includes('provider')) {
    reader.problem(field, 'must not have the member provider, which carries the routing wishes of a request')
  }
  try {
    compileInput(known)
  } catch (error) {
    reader.problem(field, `is no JSON Schema: ${error instanceof Error ? error.message : 'it does not compile'}`)
  }
  return known
}

function propertiesOf(schema: InputSchema): string[] {
  const properties = schema['properties']
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** The name of a member of the input. */
function memberOf(reader: YamlReader, field: Field | undefined, schema: InputSchema): string {
  const name = textOf(reader, field)
  if (field && name !== '' && !propertiesOf(schema).includes(name)) {
    reader.problem(field, 'must name a property of input_schema')
  }
  return name
}

function readUpstream(reader: YamlReader, field: Field | undefined, schema: InputSchema): CatalogUpstream {
  const owner = field ?? reader.root
  const map = field === undefined ? new Map<string, Field>() : reader.map(field, UPSTREAM_KEYS)
  const required = (name: string) => (field === undefined ? undefined : reader.required(map, owner, name))
  const requestField = required('request')
  const request = requestField === undefined ? {} : reader.json(requestField)
  if (requestField) {
    if (typeof request !== 'object' || request === null) reader.problem(requestField, 'must be a map')
    const unknown = placesOf(request).find((name) => !propertiesOf(schema).includes(name))
    if (unknown !== undefined) reader.problem(requestField, `names {${unknown}}, which input_schema does not have`)
  }
  return {
    baseUrl: addressOf(reader, required('base_url')),
    path: pathOf(reader, map.get('path')),
    method: choiceOf(reader, map.get('method'), ['GET', 'POST']) ?? 'POST',
    apiKeyEnv: variableOf(reader, map.get('api_key_env')),
    keyHeader: headerOf(reader, map.get('key_header')),
    request,
    results: pointerOf(reader, map.get('results')),
    result: pointersOf(reader, map.get('result')),
    output: pointersOf(reader, map.get('output')),
    billed: pointerOf(reader, map.get('billed')),
    finalUrl: pointerOf(reader, map.get('final_url')),
  }
}

function pathOf(reader: YamlReader, field: Field | undefined): string {
  const path = textOf(reader, field)
  if (field && path !== '' && !/^\/[\w./~%-]*$/.test(path)) reader.problem(field, 'must be a path such as /v1/search')
  return path
}

function headerOf(reader: YamlReader, field: Field | undefined): string {
  const name = textOf(reader, field)
  if (field && name !== '' && !/^[A-Za-z][A-Za-z0-9-]*$/.test(name)) reader.problem(field, 'must be a header name')
  return name.toLowerCase()
}

function pointerOf(reader: YamlReader, field: Field | undefined): string {
  const pointer = textOf(reader, field)
  if (field && pointer !== '' && !isPointer(pointer)) {
    reader.problem(field, 'must be a JSON Pointer such as /data/results')
  }
  return pointer
}

function pointersOf(reader: YamlReader, field: Field | undefined): Record<string, string> {
  if (field === undefined) return {}
  return Object.fromEntries(reader.entries(field).map(([name, entry]) => [name, pointerOf(reader, entry)]))
}

/** A price by result needs a list of results, and a bound that the hold can cover. */
function checkResults(reader: YamlReader, field: Field, map: ReadonlyMap<string, Field>, tool: CatalogTool): void {
  const max = map.get('results_max')
  if (max && tool.resultsMax > RESULTS_MAX) reader.problem(max, `must be at most ${RESULTS_MAX}`)
  const limit = map.get('limit')
  if (limit && max === undefined) reader.problem(limit, 'needs results_max, the most it can be')
  if (!tool.price.perResult) return
  if (tool.results === '' && tool.billed === '') {
    reader.problem(field, 'is priced by result, so its upstream needs results or billed')
  }
  if (max === undefined) reader.problem(field, 'is priced by result, so it needs results_max')
}
