import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DIALECT } from '../../contract/catalog/dialects.ts'
import { shownMessage } from '../../contract/providers/cleanMessage.ts'
import { withOwnQuery } from '../../contract/providers/ownParts.ts'
import { providerErrorOf, readProviderError } from '../../contract/providers/providerError.ts'
import { type FaultOwner, faultOf } from '../../contract/providers/providerFault.ts'
import { withQuotaWait } from '../../contract/providers/quotaWait.ts'
import { excessOf } from '../../contract/std/jsonExcess.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../contract/std/jsonObject.ts'
import { gatherBytes, TURN_BYTES } from '../runtime/net/gatherBytes.ts'
import type { CallHttp, HttpAnswer, HttpCall } from '../runtime/net/httpCall.ts'
import type { BatchLimits } from './limits.ts'
import type { BatchProvider } from './providers.ts'

/** The endpoint of a batch's lines, as OpenAI names it. https://platform.openai.com/docs/api-reference/batch */
export const LINE_PATH = '/v1/chat/completions'
const WINDOW = '24h'
/** Under which our own id of a batch is kept with it. */
const GROUP_NAME = 'sluice_group'
/** An answer about batches, of which a page has 100. */
const SHORT_ANSWER_BYTES = 1_048_576
const SHORT_ANSWER_BOUNDS = { depthMax: 64, membersMax: 32_768, elementsMax: 32_768 }
/** The rest of a longer error, an echo mostly, is not read. */
const ERROR_BODY_BYTES_MAX = 65_536
/** The tokens of all batches that wait are more than the provider takes. */
const TOO_MANY_WAIT = 'token_limit_exceeded'
/** Other words for the states that OpenAI has. */
const STATUSES: ReadonlyMap<string, string> = new Map([
  ['canceled', 'cancelled'],
  ['finished', 'completed'],
  ['succeeded', 'completed'],
])
/** The status of the answer if the batch had been refused immediately. */
const REFUSED_STATUS = 400

/** A batch as its provider reports it. */
export interface UpstreamBatch {
  readonly id: string
  readonly status: string
  readonly outputFileId: string
  readonly errorFileId: string
  /** Our own id of it; '' if the provider does not report it. */
  readonly groupId: string
  /** Why the provider would not run it; '' for no reason. */
  readonly reason: string
  /** The provider has run nothing of it: it would not for now, or not on our account. */
  readonly isBusy: boolean
  /** The number of requests that it has answered, 0 where it does not say. */
  readonly answered: number
}

/** A provider rejected a call, or its answer is unusable. */
export class ProviderRefusal extends Error {
  override name = 'ProviderRefusal'
  readonly status: number
  readonly retryAfterMs: number

  /** Whose fault it is. */
  readonly owner: FaultOwner

  /** @param answer not 2xx */
  constructor(answer: HttpAnswer) {
    const { status, body, retryAfterSeconds } = answer
    const stated = readProviderError(body.toString('utf8', 0, ERROR_BODY_BYTES_MAX))
    const error = withQuotaWait(status, stated, retryAfterSeconds * 1000)
    super(shownMessage(status, stated) || `The provider answered ${status}.`)
    this.status = status
    this.owner = faultOf(status, error).owner
    this.retryAfterMs = retryAfterSeconds * 1000 || (error.retryAfterMs ?? 0)
  }

  /** The provider has no room for now. */
  get isForNow(): boolean {
    return this.owner === 'rate' || this.status === 503
  }

  /** The provider has not done it and may do it later. */
  get isBusy(): boolean {
    return this.isForNow || this.owner === 'account'
  }

  /** Asking again would not help. */
  get isFinal(): boolean {
    const isRefused = this.owner === 'request' || this.owner === 'context' || this.owner === 'route'
    return isRefused && this.status !== 409
  }
}

/** The files and batches of a provider. Every call rejects with CallError or ProviderRefusal. */
export class BatchApi {
  private readonly provider: BatchProvider
  private readonly call: CallHttp
  private readonly leftMs: () => number
  private readonly limits: BatchLimits

  /** @param leftMs how long a call may take from now; none is begun once it is not above zero */
  constructor(provider: BatchProvider, call: CallHttp, leftMs: () => number, limits: BatchLimits) {
    this.limits = limits
    this.provider = provider
    this.call = call
    this.leftMs = leftMs
  }

  /** See BatchProvider. */
  get outputFromTotal(): boolean {
    return this.provider.outputFromTotal
  }

  /** Uploads the lines of a batch. @returns the id of the file */
  async upload(name: string, lines: Iterable<string>): Promise<string> {
    const boundary = `sluice-${randomUUID()}`
    const head =
      `--${boundary}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n` +
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}.jsonl"\r\n` +
      'content-type: application/jsonl\r\n\r\n'
    const pieces = [Buffer.from(head)]
    let turnBytes = 0
    for (const line of lines) {
      const encoded = Buffer.from(line)
      pieces.push(encoded)
      turnBytes += encoded.length
      if (turnBytes < TURN_BYTES) continue
      turnBytes = 0
      await nextTurn()
    }
    pieces.push(Buffer.from(`\r\n--${boundary}--\r\n`))
    const body = await gatherBytes(pieces)
    const answer = await this.ask('POST', '/files', `multipart/form-data; boundary=${boundary}`, body)
    return textOf(objectOf(answer), 'id')
  }

  /** Submits a batch of an uploaded file. */
  async create(fileId: string, groupId: string): Promise<UpstreamBatch> {
    const order = {
      input_file_id: fileId,
      endpoint: LINE_PATH,
      completion_window: WINDOW,
      metadata: { [GROUP_NAME]: groupId },
    }
    return batchOf(await this.ask('POST', '/batches', 'application/json', JSON.stringify(order)))
  }

  async retrieve(id: string): Promise<UpstreamBatch> {
    return batchOf(await this.ask('GET', `/batches/${encodeURIComponent(id)}`))
  }

  async cancel(id: string): Promise<void> {
    await this.ask('POST', `/batches/${encodeURIComponent(id)}/cancel`, 'application/json', '{}')
  }

  /** Searches the provider's batches, newest first, for the one of a group. Those that it would not run do not count. */
  async find(groupId: string): Promise<UpstreamBatch | undefined> {
    for (let after = '', page = 0; page < this.limits.batchFindPagesMax; page++) {
      const query = `?limit=100${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`
      const list = objectOf(await this.ask('GET', `/batches${query}`))
      const batches = Array.isArray(list['data']) ? list['data'].map(readBatch) : []
      const found = batches.find((batch) => batch.groupId === groupId && !batch.isBusy)
      if (found !== undefined) return found
      after = batches.at(-1)?.id ?? ''
      if (list['has_more'] !== true || after === '') return undefined
    }
    throw new Error(`the provider has more than ${this.limits.batchFindPagesMax} pages of batches`)
  }

  /** A file of lines. */
  async file(fileId: string): Promise<Buffer> {
    const answer = await this.send('GET', `/files/${encodeURIComponent(fileId)}/content`, this.limits.batchFileBytesMax)
    return answer.body
  }

  /** Removes a file, which the provider would keep for long. */
  async remove(fileId: string): Promise<void> {
    await this.ask('DELETE', `/files/${encodeURIComponent(fileId)}`)
  }

  private ask(method: HttpCall['method'], path: string, contentType = '', body?: string | Buffer): Promise<HttpAnswer> {
    return this.send(method, path, SHORT_ANSWER_BYTES, contentType, body)
  }

  private async send(
    method: HttpCall['method'],
    path: string,
    answerBytesMax: number,
    contentType = '',
    body?: string | Buffer,
  ): Promise<HttpAnswer> {
    const timeoutMs = Math.floor(this.leftMs())
    if (timeoutMs <= 0) throw new Error('the time for this batch is over')
    const answer = await this.call({
      method,
      url: new URL(this.provider.baseUrl + withOwnQuery(path, this.provider.query)),
      headers: providerHeaders(this.provider, contentType),
      ...(body === undefined ? {} : { body }),
      timeoutMs,
      answerBytesMax,
      allowPrivate: true,
      reach: this.provider.reach,
    })
    if (answer.status < 200 || answer.status > 299) throw new ProviderRefusal(answer)
    return answer
  }
}

/** The headers of a call to a provider. @param contentType '' for a call without a body */
export function providerHeaders(
  { apiKey, headers }: Pick<BatchProvider, 'apiKey' | 'headers'>,
  contentType: string,
): Record<string, string> {
  return {
    accept: 'application/json',
    ...(contentType === '' ? {} : { 'content-type': contentType }),
    ...DIALECT.openai.headers(apiKey),
    ...headers,
  }
}

/** The message of a provider's error for the owner of a job; '' without one, or where it is about our account. */
export function reasonOf({ status, body }: HttpAnswer): string {
  return shownMessage(status, readProviderError(body.toString('utf8', 0, ERROR_BODY_BYTES_MAX)))
}

function objectOf({ body }: HttpAnswer): JsonObject {
  const parsed = excessOf(body, SHORT_ANSWER_BOUNDS) === null ? parseJsonObject(body.toString('utf8')) : null
  if (parsed !== null) return parsed
  throw new Error('the provider answered no JSON object')
}

function textOf(object: JsonObject, name: string): string {
  const value = object[name]
  if (typeof value === 'string' && value !== '') return value
  throw new Error(`the provider answered without ${name}`)
}

function batchOf(answer: HttpAnswer): UpstreamBatch {
  const batch = readBatch(objectOf(answer))
  if (batch.id === '') throw new Error('the provider answered a batch without id')
  return batch
}

function readBatch(value: unknown): UpstreamBatch {
  const batch = isJsonObject(value) ? value : {}
  const text = (name: string): string => (typeof batch[name] === 'string' ? batch[name] : '')
  const { metadata, request_counts: counts } = batch
  const answered = Number(isJsonObject(counts) ? (counts['completed'] ?? 0) : 0)
  const groupId: unknown = typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, GROUP_NAME) : ''
  return {
    id: text('id'),
    status: STATUSES.get(text('status').toLowerCase()) ?? text('status').toLowerCase(),
    outputFileId: text('output_file_id'),
    errorFileId: text('error_file_id'),
    groupId: typeof groupId === 'string' ? groupId : '',
    ...refusalIn(batch['errors'], text('status') === 'failed' && answered === 0 && text('output_file_id') === ''),
    answered,
  }
}

/** `errors` is a list object: {object: "list", data: [{code, message}]}. */
/** @param isUnrun nothing of the batch was run */
function refusalIn(errors: unknown, isUnrun: boolean): Pick<UpstreamBatch, 'reason' | 'isBusy'> {
  const error = providerErrorOf({ errors: isJsonObject(errors) ? errors['data'] : undefined })
  const { owner } = faultOf(REFUSED_STATUS, error)
  const isFull = error.code === TOO_MANY_WAIT
  const isBusy = isUnrun && (isFull || owner === 'rate' || owner === 'account')
  return { reason: isFull ? '' : shownMessage(REFUSED_STATUS, error), isBusy }
}
