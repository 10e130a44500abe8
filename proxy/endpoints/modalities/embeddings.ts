import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { chargeUnits, type ModelRates, NO_USAGE, worstCaseUnits } from '../../../contract/money/charge.ts'
import { countOf } from '../../../contract/money/statedUsage.ts'
import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { readPreferences } from '../../dialects/shared/preferences.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { type CutMembers, type ScanBounds, scanBounds } from '../../json/answerScan.ts'
import { isGiven, readChoice, readModel, readPositiveInteger } from '../../json/fields.ts'
import type { MembersReading } from '../../json/findMembers.ts'
import { skipSpace } from '../../json/jsonSpans.ts'
import { readTagging } from '../../json/tagging.ts'
import { JSON_TYPE } from '../../server/exchange.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { LargeBodies } from '../largeBodies/largeBodies.ts'
import { sharedBuffer } from '../largeBodies/sharedBytes.ts'
import type { Bill } from '../run/bill.ts'
import { tierRates } from '../run/checkModel.ts'
import { type Beside, readBeside, readNames } from './beside.ts'
import { type BodyRest, bodyOf, restOf } from './bodyRest.ts'
import { BufferedRun } from './bufferedRun.ts'
import type { ModalityLimits } from './limits.ts'
import { type Members, rejected } from './members.ts'
import type {
  BufferedAnswer,
  BufferedPlan,
  Operation,
  PlanContext,
  UnitProviderRequest,
  UnitRequest,
} from './operation.ts'
import { convertVectors } from './vectors.ts'

const READ = readNames('input', 'encoding_format', 'dimensions', 'user', 'metadata')
const ENCODINGS = ['float', 'base64'] as const
export type Encoding = (typeof ENCODINGS)[number]

const BYTES_PER_TOKEN_MAX = 8
const BYTES_PER_TOKEN_USUAL = 4
const TOKENS_PER_INPUT = 8
const TOKENS_PER_REQUEST = 16
/** A report may exceed the size of the input by this factor before it is treated as a fault. */
const PLAUSIBLE_FACTOR = 2
/** Vectors are relayed as they are. */
const VECTORS: CutMembers = new Map([[1, new Set(['data'])]])
const OWNED: ReadonlySet<string> = new Set(['object', 'data', 'model', 'usage', 'id'])
/** Where usage has the tokens of the input; providers fill in spellings that they do not use with 0. */
const REPORTS = ['prompt_tokens', 'input_tokens', 'total_tokens']
const QUOTE = 34
const OPEN_ARRAY = 91
const COLON = 58
const MINUS = 45
const DIGIT_0 = 48
const DIGIT_9 = 57
const VECTOR = Buffer.from('"embedding"')

interface EmbeddingsRequest extends UnitRequest {
  readonly inputs: number
  /** The most tokens that the inputs can be: no token has less than a byte. */
  readonly tokensMax: number
  /** The most likely number of tokens. */
  readonly tokensUsual: number
  /** The tokens that the largest input has at least. */
  readonly largestTokens: number
  readonly encoding: Encoding
  readonly rest: BodyRest
}

/** POST /v1/embeddings. */
export const embeddings: Operation<EmbeddingsRequest, BufferedPlan> = {
  endpoint: 'embeddings',
  upload: false,
  streamed: false,
  Run: BufferedRun,
  read: (bytes, _head, limits) => readEmbeddings(bytes, limits),
  plan: (request, context) => new EmbeddingsPlan(request, context),
}

/** @throws GatewayError 400 with the field at fault */
export function readEmbeddings(bytes: Buffer, limits: ModalityLimits): EmbeddingsRequest {
  const body = readJsonBody(bytes, limits.jsonDepthMax)
  const { modelId, batchParam, cheapest } = readModel(body)
  const encoding = readChoice(body, 'encoding_format', ENCODINGS)
  const forward: JsonObject = { input: body['input'] }
  if (encoding !== null) forward['encoding_format'] = encoding
  const dimensions = readDimensions(body, limits)
  if (dimensions !== null) forward['dimensions'] = dimensions
  if (isGiven(body['user'])) forward['user'] = body['user']
  return {
    modelId,
    batchParam,
    cheapest,
    ...measureInput(body['input'], limits),
    encoding: encoding ?? 'float',
    rest: restOf(forward),
    preferences: readPreferences(body['provider']),
    beside: readBeside(body, READ, limits),
    ...readTagging(body, limits),
  }
}

// Without a bound, one request could occupy a provider until its time is up.
function readDimensions(body: JsonObject, { embeddingDimensionsMax: max }: ModalityLimits): number | null {
  const dimensions = readPositiveInteger(body, 'dimensions')
  if (dimensions === null || dimensions <= max) return dimensions
  throw invalidRequest(`dimensions may be at most ${max}.`, 'dimensions')
}

function measureInput(input: unknown, limits: ModalityLimits) {
  const size = { inputs: 0, tokensMax: 0, tokensUsual: 0, largestTokens: 0 }
  const add = (max: number, usual: number, least: number): void => {
    size.inputs++
    size.tokensMax += max
    size.tokensUsual += usual
    size.largestTokens = Math.max(size.largestTokens, least)
  }
  for (const item of inputsOf(input, limits)) {
    if (typeof item === 'string' && item !== '') {
      const bytes = Buffer.byteLength(item)
      add(bytes, Math.ceil(bytes / BYTES_PER_TOKEN_USUAL), bytes / BYTES_PER_TOKEN_MAX)
    } else if (isTokens(item)) {
      add(item.length, item.length, item.length)
    } else {
      throw invalidRequest('input must hold texts, none of them empty, or arrays of tokens.', 'input')
    }
  }
  return size
}

function inputsOf(input: unknown, limits: ModalityLimits): readonly unknown[] {
  if (typeof input === 'string' || isTokens(input)) return [input]
  if (!Array.isArray(input) || input.length === 0) {
    throw invalidRequest('input must be a text, an array of texts, or an array of tokens.', 'input')
  }
  if (input.length > limits.embeddingInputsMax) {
    throw invalidRequest(`input may hold at most ${limits.embeddingInputsMax} texts.`, 'input')
  }
  return input
}

function isTokens(value: unknown): value is readonly number[] {
  if (!Array.isArray(value) || value.length === 0) return false
  return value.every((token) => typeof token === 'number' && Number.isSafeInteger(token) && token >= 0)
}

class EmbeddingsPlan implements BufferedPlan {
  readonly holdUnits: number
  private readonly request: EmbeddingsRequest
  private readonly context: PlanContext
  private readonly rates: ModelRates
  readonly tokensMax: number
  readonly beside: Beside

  constructor(request: EmbeddingsRequest, context: PlanContext) {
    const { model, principal } = context
    if (model.context > 0 && request.largestTokens > model.context) {
      const message = `An input cannot fit the ${model.context} tokens that ${model.id} takes.`
      throw new GatewayError('context_length_exceeded', { message, param: 'input' })
    }
    this.request = request
    this.beside = request.beside
    this.context = context
    this.rates = tierRates(model, principal, model.rates, model.ratesPrivate)
    this.tokensMax = request.tokensMax + request.inputs * TOKENS_PER_INPUT + TOKENS_PER_REQUEST
    this.holdUnits = worstCaseUnits(this.tokensMax, this.rates.input, 0, 0)
  }

  get answerBytesMax(): number {
    const { limits } = this.context
    const bytesMax = limits.answerBytesBase + this.request.inputs * vectorBytesMax(limits)
    return Math.min(limits.responseBodyBytesMax, bytesMax)
  }

  get billUnseen(): Bill {
    return this.bill(null)
  }

  ask(route: Route): UnitProviderRequest {
    const body = bodyOf(route, this.request.rest, this.beside)
    return { path: '/embeddings', contentType: 'application/json', accept: 'application/json', body }
  }

  get answerBounds(): ScanBounds {
    return scanBounds(this.context.limits, VECTORS)
  }

  get reading(): MembersReading {
    return { values: ['usage'] }
  }

  // The provider's vectors are relayed unchanged, unless it supports only one of the two encodings.
  answer(
    members: Members,
    body: AnswerJson,
    large: LargeBodies,
  ): BufferedAnswer | Rejected | Promise<BufferedAnswer | Rejected> {
    const data = body.cuts.length === 0 ? members.bytesOf('data') : body.only()
    const encoding = data === undefined ? null : encodingOf(data, this.request.inputs)
    if (data === undefined || encoding === null) return rejected(null)
    const { encoding: to } = this.request
    const pieceOf = (vectors: Uint8Array | null) =>
      vectors === null ? rejected(null) : this.pieceOf(members, sharedBuffer(vectors))
    if (encoding === to) return pieceOf(data)
    const elsewhere = large.of(data, 'provider', this.context.principal.accountId)
    return elsewhere === undefined ? pieceOf(convertVectors(data, to)) : elsewhere.run('vectors', { to }).then(pieceOf)
  }

  private pieceOf(members: Members, vectors: Buffer): BufferedAnswer {
    const bill = this.bill(this.reportedTokens(members.value('usage')))
    const tokens = bill.usage.input
    const model = JSON.stringify(this.context.model.id)
    const tail = `,"model":${model},"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}`
    const own = ['"object":"list","data":', vectors, tail]
    return { bill, contentType: JSON_TYPE, body: (receipt) => members.relay(own, OWNED, receipt) }
  }

  private reportedTokens(usage: unknown): number | null {
    if (!isJsonObject(usage)) return null
    const stated = REPORTS.map((name) => usage[name] ?? null).filter((count) => count !== null)
    return countOf(stated.find((count) => count !== 0) ?? stated[0], this.tokensMax * PLAUSIBLE_FACTOR)
  }

  private bill(reported: number | null): Bill {
    const usage = { ...NO_USAGE, input: reported ?? this.request.tokensUsual }
    const source = reported === null ? 'estimated' : 'reported'
    return { units: chargeUnits(this.rates, usage), usage, quantity: 0, source }
  }
}

/**
 * The encoding of an answer's vectors; null where they are not as many as the inputs, are of two kinds, or one has no content:
 * clients pair them with their inputs by their place. They are found by the name of their member, since vectors are many bytes.
 */
function encodingOf(data: Buffer, inputs: number): Encoding | null {
  let encoding: Encoding | null = null
  let count = 0
  if (data[skipSpace(data, 0)] !== OPEN_ARRAY) return null
  for (let at = data.indexOf(VECTOR); at >= 0; at = data.indexOf(VECTOR, at + VECTOR.length)) {
    const colon = skipSpace(data, at + VECTOR.length)
    // The value of `object` is the same word.
    if (data[colon] !== COLON) continue
    const found = kindOf(data, skipSpace(data, colon + 1))
    if (found === null || (encoding !== null && found !== encoding)) return null
    encoding = found
    count++
  }
  return count === inputs ? encoding : null
}

function kindOf(data: Buffer, start: number): Encoding | null {
  const open = data[start]
  if (open === QUOTE) return data[start + 1] === QUOTE ? null : 'base64'
  const first = data[skipSpace(data, start + 1)] ?? 0
  // A model of late interaction has a vector for each token.
  const hasContent = first === MINUS || first === OPEN_ARRAY || (first >= DIGIT_0 && first <= DIGIT_9)
  return open === OPEN_ARRAY && hasContent ? 'float' : null
}

/** The bytes of one vector with the members next to it. */
function vectorBytesMax({ answerBytesBase, embeddingDimensionsMax, vectorNumberBytesMax }: ModalityLimits): number {
  return answerBytesBase + embeddingDimensionsMax * vectorNumberBytesMax
}
