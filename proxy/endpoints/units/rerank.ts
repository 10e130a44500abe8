import { invalidRequest } from '../../../contract/errors/errors.ts'
import { countOf } from '../../../contract/money/openaiUsage.ts'
import type { UnitRates } from '../../../contract/money/unitRates.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { readPreferences } from '../../dialects/shared/preferences.ts'
import { readBoolean, readModel, readPositiveInteger, readRequiredText } from '../../json/fields.ts'
import { isObject } from '../../json/jsonObject.ts'
import { parseJsonObject } from '../../json/parseJson.ts'
import type { Limits } from '../../limits.ts'
import { JSON_TYPE, type RequestHead } from '../../server/exchange.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { Bill } from '../run/bill.ts'
import { BufferedRun } from './bufferedRun.ts'
import { countedBill, countedRates } from './counted.ts'
import { type Members, readMembers, rejected } from './members.ts'
import type {
  BufferedAnswer,
  BufferedPlan,
  Operation,
  PlanContext,
  UnitProviderRequest,
  UnitRequest,
} from './operation.ts'
import { readResults } from './rerankResults.ts'

const DOCUMENTS_PER_SEARCH = 100
/** Providers split longer documents, query included, and count every piece as a document. A token has a byte at least. */
const PIECE_BYTES = 500
/** A report may exceed the worst case by this factor before it is taken for a fault. */
const PLAUSIBLE_FACTOR = 2

interface RerankRequest extends UnitRequest {
  readonly query: string
  readonly documents: readonly string[]
  readonly topN: number
  readonly returnDocuments: boolean
}

/** POST /v1/rerank. */
export const rerank: Operation<RerankRequest, BufferedPlan> = {
  endpoint: 'rerank',
  upload: false,
  streamed: false,
  Run: BufferedRun,
  read: readRequest,
  plan: (request, context) => new RerankPlan(request, context),
}

function readRequest(bytes: Buffer, _head: RequestHead, limits: Limits): RerankRequest {
  const body = parseJsonObject(bytes, limits.jsonDepthMax)
  const { modelId, batchParam, cheapest } = readModel(body)
  const documents = readDocuments(body['documents'], limits)
  return {
    modelId,
    batchParam,
    cheapest,
    query: readRequiredText(body, 'query'),
    documents,
    topN: Math.min(readPositiveInteger(body, 'top_n') ?? documents.length, documents.length),
    returnDocuments: readBoolean(body, 'return_documents'),
    preferences: readPreferences(body['provider']),
  }
}

function readDocuments(documents: unknown, limits: Limits): string[] {
  if (!Array.isArray(documents) || documents.length === 0) {
    throw invalidRequest('documents must be an array of texts, not empty.', 'documents')
  }
  if (documents.length > limits.rerankDocumentsMax) {
    throw invalidRequest(`documents may hold at most ${limits.rerankDocumentsMax} texts.`, 'documents')
  }
  return (documents as unknown[]).map((document, index) => {
    const text = isObject(document) ? document['text'] : document
    if (typeof text === 'string') return text
    throw invalidRequest(`documents[${index}] must be a text or {text}.`, `documents[${index}]`)
  })
}

class RerankPlan implements BufferedPlan {
  readonly holdUnits: number
  private readonly request: RerankRequest
  private readonly context: PlanContext
  private readonly rates: UnitRates
  private readonly searchesMax: number
  private readonly rest: string

  constructor(request: RerankRequest, context: PlanContext) {
    this.request = request
    this.context = context
    this.rates = countedRates(context.model, context.principal)
    const { query, documents, topN } = request
    const queryBytes = Buffer.byteLength(query)
    const pieces = documents.reduce((sum, text) => sum + piecesOf(text, queryBytes), 0)
    this.searchesMax = Math.ceil(pieces / DOCUMENTS_PER_SEARCH)
    this.holdUnits = countedBill(this.rates, this.searchesMax, 'reported').units
    this.rest = JSON.stringify({ query, documents, top_n: topN }).slice(1)
  }

  get billUnseen(): Bill {
    return this.bill(null)
  }

  ask(route: Route): UnitProviderRequest {
    const body = `{"model":${JSON.stringify(route.upstreamModel)},${this.rest}`
    return { path: '/rerank', contentType: 'application/json', accept: 'application/json', body }
  }

  answer(body: Buffer): BufferedAnswer | Rejected {
    const members = readMembers(body, this.context.limits)
    if ('rejected' in members) return members
    const { documents, topN, returnDocuments } = this.request
    const found = readResults(members.value('results') ?? members.value('data'), documents.length)
    if (found === null) return rejected(null)
    const results = found.slice(0, topN).map(({ index, score }) => {
      const document = returnDocuments ? { document: { text: documents[index] } } : {}
      return { index, relevance_score: score, ...document }
    })
    const bill = this.bill(this.reportedSearches(members))
    const text = this.textOf(JSON.stringify(results), members, bill.quantity)
    return {
      bill,
      contentType: JSON_TYPE,
      body: (receipt) => `${text}${receipt === '' ? '' : `,"receipt":${receipt}`}}`,
    }
  }

  private textOf(results: string, members: Members, searches: number): string {
    const { requestId, model } = this.context
    const usage = members.value('usage')
    const tokens = isObject(usage) ? countOf(usage['total_tokens'], Number.MAX_SAFE_INTEGER) : null
    return (
      `{"id":"${requestId}","object":"list","model":${JSON.stringify(model.id)},"results":${results},` +
      `"usage":{${tokens === null ? '' : `"total_tokens":${tokens},`}"search_units":${searches}},` +
      `"meta":{"api_version":{"version":"2"},"billed_units":{"search_units":${searches}}}`
    )
  }

  private reportedSearches(members: Members): number | null {
    const meta = members.value('meta')
    const billed = isObject(meta) ? meta['billed_units'] : undefined
    return isObject(billed) ? countOf(billed['search_units'], this.searchesMax * PLAUSIBLE_FACTOR) : null
  }

  // Without a report the price is for the documents that were sent, as the sheet says.
  private bill(searches: number | null): Bill {
    const counted = Math.ceil(this.request.documents.length / DOCUMENTS_PER_SEARCH)
    return countedBill(this.rates, searches ?? counted, 'reported')
  }
}

function piecesOf(text: string, queryBytes: number): number {
  return Math.max(1, Math.ceil((Buffer.byteLength(text) + queryBytes) / PIECE_BYTES))
}
