import assert from 'node:assert/strict'
import { itemOf, memberOf, present } from '../present.ts'
import { postTo, type Receipt, type Reply } from './chatClient.ts'

export interface MessagesBody {
  readonly model: string
  [member: string]: unknown
}

export interface MessagesEvent {
  readonly type: string
  [member: string]: unknown
}

/** A Messages answer, as far as tests look at it. */
export interface MessagesAnswer {
  readonly id: string
  readonly type: string
  readonly role: string
  readonly model: string
  readonly content: ContentBlock[]
  stop_reason: string | null
  usage: MessagesUsage
  readonly receipt: Receipt
}

export interface ContentBlock {
  readonly type: string
  text?: string
  thinking?: string
  signature?: string
  readonly id?: string
  readonly name?: string
  input?: unknown
}

export interface MessagesUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_read_input_tokens: number
  readonly cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number }
}

/** One Messages stream, taken apart, and put together to the answer that it comes to. */
export interface MessagesStreamReply extends Reply {
  readonly events: MessagesEvent[]
  readonly comments: string[]
  readonly receipt: Receipt | null
  readonly answer: Omit<MessagesAnswer, 'receipt'>
  /** message_stop came last, right after the receipt. */
  readonly done: boolean
}

const HELLO = [{ role: 'user', content: 'hello' }]

/** Sends a body to POST /v1/messages; messages and max_tokens default to small ones. */
export function messages(baseUrl: string, apiKey: string, body: MessagesBody, headers = {}): Promise<Reply> {
  const text = JSON.stringify({ max_tokens: 100, messages: HELLO, ...body })
  return postTo(`${baseUrl}/v1/messages`, apiKey, text, headers)
}

/** Sends a body to POST /v1/messages/count_tokens. */
export function countTokens(baseUrl: string, apiKey: string, body: MessagesBody): Promise<Reply> {
  return postTo(`${baseUrl}/v1/messages/count_tokens`, apiKey, JSON.stringify({ messages: HELLO, ...body }))
}

/** The body of a whole answer. */
export function messagesAnswer(reply: Reply): MessagesAnswer {
  assert.equal(reply.status, 200, reply.text)
  return JSON.parse(reply.text) as MessagesAnswer
}

/** Sends a streamed request and reads it to its end. */
export async function messagesStream(
  baseUrl: string,
  apiKey: string,
  body: MessagesBody,
): Promise<MessagesStreamReply> {
  return takeMessagesApart(await messages(baseUrl, apiKey, { stream: true, ...body }))
}

/** Takes the text of a Messages stream apart. */
export function takeMessagesApart(reply: Reply): MessagesStreamReply {
  const events: MessagesEvent[] = []
  const comments: string[] = []
  const blocks = reply.text.split('\n\n').filter((block) => block !== '')
  for (const block of blocks) {
    if (block.startsWith(':')) comments.push(block)
    if (!block.startsWith('event: ')) continue
    const [name, data] = block.split('\n')
    const event = JSON.parse(present(data).slice('data: '.length)) as MessagesEvent
    assert.equal(name, `event: ${event.type}`)
    events.push(event)
  }
  const receipts = comments.filter((comment) => comment.startsWith(': receipt '))
  const receipt = receipts.length === 0 ? null : (JSON.parse(itemOf(receipts, 0).slice(10)) as Receipt)
  const [last, before] = [blocks.at(-1), blocks.at(-2)]
  const done = last?.startsWith('event: message_stop') === true && before?.startsWith(': receipt ') === true
  return { ...reply, events, comments, receipt, answer: answerOf(events), done }
}

/** What the events of a stream add up to, by the rules of the format. */
function answerOf(events: readonly MessagesEvent[]): Omit<MessagesAnswer, 'receipt'> {
  let answer = { content: [] } as unknown as Omit<MessagesAnswer, 'receipt'>
  const inputs = new Map<number, string>()
  for (const event of events) {
    const index = Number(event['index'])
    const delta = (event['delta'] ?? {}) as Record<string, string>
    if (event.type === 'message_start') answer = structuredClone(event['message']) as typeof answer
    else if (event.type === 'content_block_start') {
      assert.equal(index, answer.content.length)
      answer.content.push(structuredClone(event['content_block']) as ContentBlock)
    } else if (event.type === 'content_block_delta') {
      const block = itemOf(answer.content, index)
      if (delta['type'] === 'text_delta') block.text += memberOf(delta, 'text')
      if (delta['type'] === 'thinking_delta') block.thinking += memberOf(delta, 'thinking')
      if (delta['type'] === 'signature_delta') block.signature = memberOf(delta, 'signature')
      if (delta['type'] === 'input_json_delta') inputs.set(index, (inputs.get(index) ?? '') + delta['partial_json'])
    } else if (event.type === 'content_block_stop') {
      const block = itemOf(answer.content, index)
      const input = inputs.get(index)
      if (block.type === 'tool_use' && input) block.input = JSON.parse(input)
    } else if (event.type === 'message_delta') {
      answer.stop_reason = memberOf(delta, 'stop_reason')
      answer.usage = { ...answer.usage, ...(event['usage'] as MessagesUsage) }
    }
  }
  return answer
}

/** Providers of the dialects that serve Messages. */
export const DIALECT_PROVIDERS = [
  { id: 'openai', dialect: 'openai' },
  { id: 'anthropic', dialect: 'anthropic' },
]

/** Models of the catalog that differ in the dialect of their provider alone, which their ids begin with. */
export const both = (id: string, upstream: string, members: object = {}) =>
  ['openai', 'anthropic'].map((provider) => ({
    id: `${provider}/${id}`,
    endpoints: ['chat', 'messages'],
    routes: [{ provider, model: upstream }],
    ...members,
  }))
