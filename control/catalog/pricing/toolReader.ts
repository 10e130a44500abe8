import { assertInputSchema, type InputSchema } from '../../../contract/tools/inputSchema.ts'
import { placesOf, type Template } from '../../../contract/tools/template.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import { plainAddress } from './address.ts'
import type { ToolContent, UpstreamContent } from './catalogContent.ts'
import { checkMargin, readToolPrice, type ToolPrice } from './toolPrice.ts'

const SCHEMA_BYTES_MAX = 16_384

/** How the upstream of a tool is called, and the places of values in its answer. Pointers are those of RFC 6901. */
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
  /** The upstream retains the requests that it gets. */
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

/** Reads an entry of `tools` that fits its schema; other errors are recorded on the file. */
export function readTool(file: YamlFile, path: Path, content: ToolContent): CatalogTool {
  const price = readToolPrice(content.price)
  const cost = readToolPrice(content.cost)
  checkMargin(file, [...path, 'price'], price, cost)
  checkSchema(file, [...path, 'input_schema'], content.input_schema)
  checkReferences(file, path, content)
  const tool: CatalogTool = {
    id: content.id,
    name: content.name ?? content.id,
    description: content.description,
    enabled: content.enabled,
    retained: content.data_policy === 'retained',
    price,
    cost,
    inputSchema: content.input_schema,
    limit: content.limit ?? '',
    resultsMax: content.results_max ?? 0,
    publicUrl: content.public_url ?? '',
    ...upstreamOf(content.upstream),
  }
  checkResults(file, path, tool)
  return tool
}

function upstreamOf(content: UpstreamContent): CatalogUpstream {
  return {
    baseUrl: plainAddress(content.base_url),
    path: content.path ?? '',
    method: content.method,
    apiKeyEnv: content.api_key_env ?? '',
    keyHeader: (content.key_header ?? '').toLowerCase(),
    request: content.request,
    results: content.results ?? '',
    result: content.result ?? {},
    output: content.output ?? {},
    billed: content.billed ?? '',
    finalUrl: content.final_url ?? '',
  }
}

/** An invalid input schema prevents the start. */
function checkSchema(file: YamlFile, path: Path, schema: InputSchema): void {
  if (propertiesOf(schema).includes('provider')) {
    file.problem(path, 'must not have the member provider, which carries the routing wishes of a request')
  }
  try {
    if (JSON.stringify(schema).length > SCHEMA_BYTES_MAX) file.problem(path, `is larger than ${SCHEMA_BYTES_MAX} bytes`)
    assertInputSchema(schema)
  } catch (error) {
    file.problem(path, `is no JSON Schema: ${error instanceof Error ? error.message : 'it does not compile'}`)
  }
}

function propertiesOf(schema: InputSchema): string[] {
  const properties = schema['properties']
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** The members of the input that a tool refers to have to be in its input schema. */
function checkReferences(file: YamlFile, path: Path, content: ToolContent): void {
  const members = propertiesOf(content.input_schema)
  for (const name of ['limit', 'public_url'] as const) {
    const member = content[name]
    if (member === undefined || members.includes(member)) continue
    file.problem([...path, name], 'must name a property of input_schema')
  }
  const unknown = placesOf(content.upstream.request).find((name) => !members.includes(name))
  if (unknown !== undefined) {
    file.problem([...path, 'upstream', 'request'], `names {${unknown}}, which input_schema does not have`)
  }
}

/** A price by result needs a list of results, and a bound that the hold can cover. */
function checkResults(file: YamlFile, path: Path, tool: CatalogTool): void {
  const isBounded = tool.resultsMax > 0
  if (tool.limit !== '' && !isBounded) file.problem([...path, 'limit'], 'needs results_max, the most it can be')
  if (!tool.price.perResult) return
  if (tool.results === '' && tool.billed === '') {
    file.problem(path, 'is priced by result, so its upstream needs results or billed')
  }
  if (!isBounded) file.problem(path, 'is priced by result, so it needs results_max')
}
