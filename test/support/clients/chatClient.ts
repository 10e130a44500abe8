import assert from 'node:assert/strict'
import { GatewayError, isErrorCode } from '../../../contract/errors/errors.ts'

export interface ChatBody {
  readonly model: string
  readonly messages?: unknown
  [member: string]: unknown
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Receipt {
  readonly request_id: string
  readonly status: string
  readonly model: string
  readonly price_sheet: string
  readonly rate: string | null
  readonly tier: string | null
  readonly cost: { units: string; usd: string; coin: string }
  readonly hold: { units: string; usd: string }
  readonly usage: {
    prompt_tokens: number
    completion_tokens: number
    cached_tokens: number
    cache_write_tokens: number
    cache_write_1h_tokens: number
    reasoning_tokens: number
  }
  readonly usage_source: string
  readonly clamped: boolean
  readonly duration_ms: number
  readonly first_token_ms: number | null
  readonly tries: number | null
  readonly error: string | null
  readonly log?: { position: number }
}

export interface ErrorBody {
  readonly error: { message: string; type: string; code: string | null; param: string | null }
}

/** One event stream, taken apart: data events in order, comments, and whether [DONE] came last. */
export interface StreamReply extends Reply {
  readonly events: Record<string, unknown>[]
  readonly comments: string[]
  readonly receipt: Receipt | null
  readonly done: boolean
}

const HELLO = [{ role: 'user', content: 'hello' }]

/** Sends a body to POST /v1/chat/completions as it is. */
export function postRaw(baseUrl: string, apiKey: string, body: string, headers = {}): Promise<Reply> {
  return postTo(`${baseUrl}/v1/chat/completions`, apiKey, body, headers)
}

/**
 * Sends a body to an address as it is, with the key as Authorization: Bearer unless it is empty.
 * @param onHead called with the head of the answer, also of one that then breaks off
 */
export async function postTo(
  url: string,
  apiKey: string,
  body: string,
  headers = {},
  onHead = (_head: Response): void => {},
): Promise<Reply> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
      ...headers,
    },
    body,
  })
  onHead(response)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Sends a chat request; messages default to a short one. @param onHead as in `postTo` */
export function chat(
  baseUrl: string,
  apiKey: string,
  body: ChatBody,
  onHead?: (head: Response) => void,
): Promise<Reply> {
  const text = JSON.stringify({ messages: HELLO, ...body })
  return postTo(`${baseUrl}/v1/chat/completions`, apiKey, text, {}, onHead)
}

/** Sends a streamed chat request and reads it to its end. */
export async function chatStream(baseUrl: string, apiKey: string, body: ChatBody): Promise<StreamReply> {
  return takeApart(await chat(baseUrl, apiKey, { stream: true, ...body }))
}

/** Takes the text of an event stream apart. */
export function takeApart(reply: Reply): StreamReply {
  const events: Record<string, unknown>[] = []
  const comments: string[] = []
  let receipt: Receipt | null = null
  const blocks = reply.text.split('\n\n').filter((block) => block !== '')
  for (const block of blocks) {
    if (block.startsWith(':')) comments.push(block)
    if (block.startsWith(': receipt ')) receipt = JSON.parse(block.slice(10)) as Receipt
    if (block.startsWith('data: ') && block !== 'data: [DONE]') {
      events.push(JSON.parse(block.slice(6)) as Record<string, unknown>)
    }
  }
  return { ...reply, events, comments, receipt, done: blocks.at(-1) === 'data: [DONE]' }
}

/** The body of a whole answer, with its receipt. */
export function completion(reply: Reply): Record<string, unknown> & { receipt: Receipt } {
  assert.equal(reply.status, 200, reply.text)
  return JSON.parse(reply.text) as Record<string, unknown> & { receipt: Receipt }
}

/** Asserts that a reply is this error, in the error shape and of its type, with the request id in both headers. */
export function assertError(reply: Reply, status: number, code: string | null, param?: string): ErrorBody['error'] {
  assert.equal(reply.status, status, reply.text)
  const { error } = JSON.parse(reply.text) as ErrorBody
  assert.equal(error.code, code, reply.text)
  if (code !== null && isErrorCode(code)) assert.equal(error.type, new GatewayError(code, { status }).type, reply.text)
  assert.equal(typeof error.message, 'string')
  assert.notEqual(error.message, '')
  if (param !== undefined) assert.equal(error.param, param)
  assert.match(reply.headers.get('x-request-id') ?? '', /^req_[0-9A-HJKMNP-TV-Z]{26}$/)
  assert.equal(reply.headers.get('request-id'), reply.headers.get('x-request-id'))
  return error
}

/** The text that the chunks of a stream add up to. */
export function streamedText(reply: StreamReply): string {
  return reply.events
    .flatMap((event) => (event['choices'] ?? []) as { delta?: { content?: string } }[])
    .map((choice) => choice.delta?.content ?? '')
    .join('')
}

/** Reads a receipt of the key's own. */
export async function receiptOf(baseUrl: string, apiKey: string, requestId: string): Promise<Receipt> {
  const response = await fetch(`${baseUrl}/v1/receipts/${requestId}`, {
    headers: { authorization: `Bearer ${apiKey}` },
  })
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as Receipt
}
