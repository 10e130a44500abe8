import { invalidRequest } from '../../../contract/errors/errors.ts'
import { countOf } from '../../../contract/money/statedUsage.ts'
import type { UnitRates } from '../../../contract/money/unitRates.ts'
import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { joinedBody } from '../../dialects/shared/joinedBody.ts'
import { readPreferences } from '../../dialects/shared/preferences.ts'
import type { ScanBounds } from '../../json/answerScan.ts'
import { readBoolean, readModel, readPositiveInteger, readRequiredText } from '../../json/fields.ts'
import type { MembersReading } from '../../json/findMembers.ts'
import { JSON_TYPE } from '../../server/exchange.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { Bill } from '../run/bill.ts'
import { type Beside, readBeside, readNames } from './beside.ts'
import { type BodyRest, bodyOf, restOf } from './bodyRest.ts'
import { BufferedRun } from './bufferedRun.ts'
import { countedBill, countedRates } from './counted.ts'
import type { ModalityLimits } from './limits.ts'
import { type Members, memberBounds, rejected } from './members.ts'
import type {
  BufferedAnswer,
  BufferedPlan,
  Operation,
  PlanContext,
  UnitProviderRequest,
  UnitRequest,
} from './operation.ts'
import { type JsonTexts, readResults, resultPieces } from './rerankResults.ts'

const READ = readNames('query', 'documents', 'top_n', 'return_documents')
const DOCUMENTS_PER_SEARCH = 100
/** One result without its document. */
const RESULT_BYTES_MAX = 1_024
/** Those of one result, its document among them. */
const RESULT_MEMBERS_MAX = 4
/** A byte as JSON: \\u0041. */
const ESCAPE_BYTES_MAX = 6
/** Providers split longer documents, query included, and count every piece as a document. A token has a byte at least. */
const PIECE_BYTES = 500
/** A report may exceed the worst case by this factor before it is taken for a fault. */
const PLAUSIBLE_FACTOR = 2

interface RerankRequest extends UnitRequest {
  /** How many documents there are, and how many providers make of them. */
  readonly documents: number
  readonly pieces: number
  readonly topN: number
  readonly rest: BodyRest
  /** Of each document its text as JSON, where they are to be returned. */
  readonly returned: JsonTexts | null
}

/** POST /v1/rerank. */
export const rerank: Operation<RerankRequest, BufferedPlan> = {
  endpoint: 'rerank',
  upload: false,
  streamed: false,
  Run: BufferedRun,
  read: (bytes, _head, limits) => readRerank(bytes, limits),
  plan: (request, context) => new RerankPlan(request, context),
}

/** @throws GatewayError 400 with the field at fault */
export function readRerank(bytes: Buffer, limits: ModalityLimits): RerankRequest {
  const body = readJsonBody(bytes, limits.jsonDepthMax)
  const { modelId, batchParam, cheapest } = readModel(body)
  const documents = readDocuments(body['documents'], limits)
  const query = readRequiredText(body, 'query')
  const queryBytes = Buffer.byteLength(query)
  const topN = Math.min(readPositiveInteger(body, 'top_n') ?? documents.length, documents.length)
  return {
    modelId,
    batchParam,
    cheapest,
    documents: documents.length,
    pieces: documents.reduce((sum, text) => sum + piecesOf(text, queryBytes), 0),
    topN,
    rest: restOf({ query, documents, top_n: topN }),
    returned: readBoolean(body, 'return_documents') ? documents.map((text) => JSON.stringify(text)) : null,
    preferences: readPreferences(body['provider']),
    beside: readBeside(body, READ, limits),
  }
}

function readDocuments(documents: unknown, limits: ModalityLimits): string[] {
  if (!Array.isArray(documents) || documents.length === 0) {
    throw invalidRequest('documents must be an array of texts, not empty.', 'documents')
  }
  if (documents.length > limits.rerankDocumentsMax) {
    throw invalidRequest(`documents may hold at most ${limits.rerankDocumentsMax} texts.`, 'documents')
  }
  return (documents as unknown[]).map((document, index) => {
    const text = isJsonObject(document) ? document['text'] : document
    if (typeof text === 'string') return text
    throw invalidRequest(`documents[${index}] must be a text or {text}.`, `documents[${index}]`)
  })
}

class RerankPlan implements BufferedPlan {
  readonly holdUnits: number
  readonly beside: Beside
  private readonly request: RerankRequest
  private readonly context: PlanContext
  private readonly rates: UnitRates
  private readonly searchesMax: number

  constructor(request: RerankRequest, context: PlanContext) {
    this.request = request
    this.beside = request.beside
    this.context = context
    this.rates = countedRates(context.model, context.principal)
    this.searchesMax = Math.ceil(request.pieces / DOCUMENTS_PER_SEARCH)
    this.holdUnits = countedBill(this.rates, this.searchesMax, 'reported').units
  }

  get billUnseen(): Bill {
    return this.bill(null)
  }

  ask(route: Route): UnitProviderRequest {
    const body = bodyOf(route, this.request.rest, this.beside)
    return { path: '/rerank', contentType: 'application/json', accept: 'application/json', body }
  }

  // A provider may return the documents as well, each byte of them escaped.
  get answerBytesMax(): number {
    const { answerBytesBase, responseBodyBytesMax } = this.context.limits
    const { documents, rest } = this.request
    const bytesMax = answerBytesBase + documents * RESULT_BYTES_MAX + rest.length * ESCAPE_BYTES_MAX
    return Math.min(responseBodyBytesMax, bytesMax)
  }

  get answerBounds(): ScanBounds {
    return { ...memberBounds(this.context.limits), membersMax: this.membersMax }
  }

  get reading(): MembersReading {
    return { values: ['results', 'data', 'meta', 'usage'], membersMax: this.membersMax }
  }

  answer(members: Members): BufferedAnswer | Rejected {
    const { documents, topN, returned } = this.request
    const found = readResults(members.value('results') ?? members.value('data'), documents)
    if (found === null) return rejected(null)
    const results = resultPieces(found.slice(0, topN), returned)
    const bill = this.bill(this.reportedSearches(members))
    const [start, end] = this.around(members, bill.quantity)
    return {
      bill,
      contentType: JSON_TYPE,
      body: (receipt) => {
        const last = `${end}${receipt === '' ? '' : `,"receipt":${receipt}`}}`
        return joinedBody([start, ...results, last])
      },
    }
  }

  private get membersMax(): number {
    return this.context.limits.answerMembersMax + this.request.documents * RESULT_MEMBERS_MAX
  }

  /** The parts of the answer before and after the results. */
  private around(members: Members, searches: number): readonly [start: string, end: string] {
    const { requestId, model } = this.context
    const usage = members.value('usage')
    const tokens = isJsonObject(usage) ? countOf(usage['total_tokens'], Number.MAX_SAFE_INTEGER) : null
    return [
      `{"id":"${requestId}","object":"list","model":${JSON.stringify(model.id)},"results":`,
      `,"usage":{${tokens === null ? '' : `"total_tokens":${tokens},`}"search_units":${searches}},` +
        `"meta":{"api_version":{"version":"2"},"billed_units":{"search_units":${searches}}}`,
    ]
  }

  private reportedSearches(members: Members): number | null {
    const meta = members.value('meta')
    const billed = isJsonObject(meta) ? meta['billed_units'] : undefined
    const counts = [billed, members.value('usage')].map((place) =>
      isJsonObject(place) ? countOf(place['search_units'], this.searchesMax * PLAUSIBLE_FACTOR) : null,
    )
    const found = counts.find((count) => count !== null && count > 0)
    // A provider that bills tokens fills in 0 for what it does not count.
    return found ?? (billsOtherwise(billed) ? null : (counts.find((count) => count !== null) ?? null))
  }

  // Without a report the price is computed from the documents that were sent, by the price sheet.
  private bill(searches: number | null): Bill {
    const counted = Math.ceil(this.request.documents / DOCUMENTS_PER_SEARCH)
    return countedBill(this.rates, searches ?? counted, 'reported')
  }
}

function billsOtherwise(billed: unknown): boolean {
  return isJsonObject(billed) && Object.values(billed).some((count) => typeof count === 'number' && count > 0)
}

function piecesOf(text: string, queryBytes: number): number {
  return Math.max(1, Math.ceil((Buffer.byteLength(text) + queryBytes) / PIECE_BYTES))
}
