import assert from 'node:assert/strict'
import { assertValid } from '../apiSchemas.ts'
import { itemOf, present } from '../present.ts'
import { assertSerialItems } from '../wires/serialItems.ts'
import { postTo, type Receipt, type Reply } from './chatClient.ts'

/** Sends a body as JSON to a path of the gateway. The items of a stream that comes back are checked. */
export async function post(baseUrl: string, path: string, apiKey: string, body: unknown): Promise<Reply> {
  const reply = await postTo(baseUrl + path, apiKey, JSON.stringify(body))
  assertSerialItems(reply.text)
  return reply
}

export interface ResponseItem {
  readonly type: string
  readonly id: string
  readonly status: string
  readonly content?: { type: string; text?: string; refusal?: string }[]
  readonly summary?: { text: string }[]
  readonly call_id?: string
  readonly name?: string
  readonly arguments?: string
}

/** A response object, as far as the tests read it. */
export interface ResponseObject {
  readonly id: string
  readonly created_at: number
  readonly completed_at: number | null
  readonly status: string
  readonly model: string
  readonly output: ResponseItem[]
  readonly error: { code: string; message: string } | null
  readonly incomplete_details: { reason: string } | null
  readonly usage: {
    input_tokens: number
    input_tokens_details: { cached_tokens: number; cache_write_tokens: number }
    output_tokens: number
    output_tokens_details: { reasoning_tokens: number }
    total_tokens: number
  } | null
  readonly store: boolean
  readonly receipt?: Receipt
  [member: string]: unknown
}

export interface ResponseEvent {
  readonly type: string
  readonly sequence_number: number
  readonly response?: ResponseObject
  [member: string]: unknown
}

/** A stream of a response, taken apart and checked: every event valid, named by its type, and numbered without a gap. */
export interface ResponseStreamReply extends Reply {
  readonly events: ResponseEvent[]
  readonly types: string[]
  /** The response of the last event. */
  readonly response: ResponseObject
  readonly receipt: Receipt | null
}

/** Reads a response in one piece, which has to be valid. */
export function responseOf(reply: Reply): ResponseObject & { receipt: Receipt } {
  assert.equal(reply.status, 200, reply.text)
  const response = JSON.parse(reply.text) as ResponseObject & { receipt: Receipt }
  assertValid('openResponses/ResponseResource', response)
  return response
}

/** Takes a stream of a response apart. */
export function readResponseStream(reply: Reply): ResponseStreamReply {
  assert.equal(reply.status, 200, reply.text)
  const events: ResponseEvent[] = []
  const receipts: Receipt[] = []
  const blocks = reply.text.split('\n\n')
  assert.deepEqual(blocks.slice(-2), ['data: [DONE]', ''])
  for (const block of blocks.slice(0, -2)) {
    if (block.startsWith(': receipt ')) receipts.push(JSON.parse(block.slice(10)) as Receipt)
    else events.push(readEvent(block, events.length))
  }
  const [receipt = null] = receipts
  const { response } = itemOf(events, events.length - 1)
  assert.ok(response !== undefined)
  if (receipt !== null) assert.deepEqual(response.receipt, receipt)
  return { ...reply, events, types: events.map(({ type }) => type), response, receipt }
}

function readEvent(block: string, place: number): ResponseEvent {
  const [name, data, ...rest] = block.split('\n')
  assert.deepEqual(rest, [])
  assert.ok(data?.startsWith('data: '))
  const event = JSON.parse(present(data).slice(6)) as ResponseEvent
  assert.equal(name, `event: ${event.type}`)
  assert.equal(event.sequence_number, place)
  assertValid('openResponses/Event', event)
  return event
}

/** The text of a response's messages. */
export function outputText(response: ResponseObject): string {
  return response.output
    .flatMap((item) => item.content ?? [])
    .map((part) => part.text ?? '')
    .join('')
}
