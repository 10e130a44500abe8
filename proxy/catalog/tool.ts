import { type ReachReads, reachOf } from '../../contract/providers/reach.ts'
import { compileInput, type InputCheck, type InputSchema } from '../../contract/tools/inputSchema.ts'
import { type ToolRates, toolRates } from '../../contract/tools/rates.ts'
import type { Template } from '../../contract/tools/template.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Route, Sheet } from './pricedItem.ts'

/** The places of values in an upstream's answer, as JSON Pointers (RFC 6901); '' is nowhere. */
export interface AnswerPlaces {
  /** The list of results. */
  readonly results: string
  /** The members of each result by the names that clients see; none takes results as they are. */
  readonly result: readonly (readonly [name: string, pointer: string])[]
  /** The members of the output outside of the results. */
  readonly output: readonly (readonly [name: string, pointer: string])[]
  /** How many results the upstream bills. */
  readonly billed: string
  /** The address that a page had in the end. */
  readonly finalUrl: string
}

/** A priced tool as requests need it. */
export interface Tool {
  readonly id: string
  readonly name: string
  readonly description: string
  /** In the catalog, and with the key that its upstream needs. */
  readonly enabled: boolean
  /** Its upstream retains the data that it is sent. */
  readonly retained: boolean
  readonly price: ToolRates
  /** Results are priced, and counted on receipts; else calls are. */
  readonly unit: 'call' | 'result'
  readonly cost: ToolRates
  readonly inputSchema: InputSchema
  readonly checkInput: InputCheck
  /** The member of the input that bounds the results; '' for none. */
  readonly limit: string
  /** The most results that there can be; 0 where they are not bounded. */
  readonly resultsMax: number
  /** The member of the input that is an address on the public internet; '' for none. */
  readonly publicUrl: string
  readonly route: Route
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** '' is Authorization: Bearer. */
  readonly keyHeader: string
  readonly request: Template
  readonly places: AnswerPlaces
  readonly sheet: Sheet
}

/** Decodes a tool of the catalog in force. @param environment where the keys of upstreams are */
export function decodeTool(
  bare: sluice.ToolRecord.$Properties,
  sheet: Sheet,
  environment: NodeJS.ProcessEnv,
  reads: ReachReads,
): Tool {
  const record = sluice.ToolRecord.create(bare)
  const inputSchema = JSON.parse(record.inputSchema) as InputSchema
  const { id, name, description, retained, limit, resultsMax, publicUrl, path, keyHeader } = record
  const route = routeOf(record, environment, reads)
  const { results, billed, finalUrl } = record
  const price = toolRates(record.price)
  return {
    id,
    name,
    description,
    retained,
    price,
    inputSchema,
    limit,
    resultsMax,
    publicUrl,
    route,
    path,
    keyHeader,
    enabled: route.enabled,
    unit: record.price?.perResult === true ? 'result' : 'call',
    cost: toolRates(record.cost),
    checkInput: compileInput(inputSchema),
    method: record.method === 'GET' ? 'GET' : 'POST',
    request: JSON.parse(record.request) as Template,
    places: { results, billed, finalUrl, result: Object.entries(record.result), output: Object.entries(record.output) },
    sheet,
  }
}

/** The one upstream of a tool, in the form that attempts and route health know. */
function routeOf(record: sluice.ToolRecord, environment: NodeJS.ProcessEnv, reads: ReachReads): Route {
  const url = new URL(record.baseUrl)
  const apiKey = record.apiKeyEnv === '' ? '' : (environment[record.apiKeyEnv] ?? '').trim()
  const { reach } = reachOf({ baseUrl: record.baseUrl }, reads)
  const provider = {
    id: `tool:${record.id}`,
    ...(reach && { reach }),
    origin: url.origin,
    host: url.host,
    basePath: url.pathname.replace(/\/+$/, ''),
    dialect: 'openai' as const,
    apiKey,
    missingKey: apiKey === '' ? record.apiKeyEnv : '',
    maxTokensField: '',
    form: null,
    privateImages: false,
    report: null,
    dataPolicy: record.retained ? ('retained' as const) : ('none' as const),
  }
  const enabled = record.enabled && provider.missingKey === ''
  return {
    id: provider.id,
    provider,
    upstreamModel: record.id,
    enabled,
    offered: enabled,
    switchedOff: false,
    costUnits: null,
  }
}
