import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { itemOf } from '../present.ts'

/** What the model says in one answer. */
export interface Turn {
  readonly text?: string
  readonly reasoning?: string
  /** Thinking that providers of the Anthropic dialect do not show. */
  readonly redacted?: string
  /** With the arguments as JSON text, and a member that providers of the OpenAI dialect want back. */
  readonly calls?: readonly { readonly name: string; readonly arguments: string; readonly extra?: object }[]
  /** Tokens of the prompt that the provider bills; TURN_USAGE when absent. */
  readonly promptTokens?: number
  /** An error in place of an answer. */
  readonly refusal?: { readonly status: number; readonly body: unknown }
}

/** An answer that refuses a request. @param path of the request, whose format the error has */
export function refusal(message: string, path = '/messages'): Turn {
  const error = { type: 'invalid_request_error', message }
  return { refusal: { status: 400, body: path.endsWith('/messages') ? { type: 'error', error } : { error } } }
}

/** A request as the provider has received it. */
export interface Asked {
  readonly path: string
  readonly body: Record<string, unknown>
}

/** The tokens that every answer is billed with. */
export const TURN_USAGE = { prompt: 100, completion: 20 }

/**
 * A provider of both dialects whose turns a test writes. It keeps what it was asked, and counts what it bills.
 */
export class TurnProvider {
  readonly asked: Asked[] = []
  readonly url: string
  private readonly server: ReturnType<typeof createServer>
  private readonly turn: (asked: Asked) => Turn

  private constructor(server: ReturnType<typeof createServer>, turn: (asked: Asked) => Turn) {
    this.server = server
    this.turn = turn
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  }

  /** @param turn what the model says to a request; absent is a short text */
  static async start(turn: (asked: Asked) => Turn = () => ({ text: 'ok' })): Promise<TurnProvider> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const provider = new TurnProvider(server, turn)
    server.on('request', (request, response: ServerResponse) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => provider.answer(request.url ?? '', Buffer.concat(parts).toString('utf8'), response))
    })
    return provider
  }

  /** The last request that asked for an answer. */
  get last(): Asked {
    return itemOf(this.asked, this.asked.length - 1)
  }

  stop(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  private answer(path: string, text: string, response: ServerResponse): void {
    if (path.endsWith('/count_tokens')) {
      response.writeHead(404).end()
      return
    }
    const asked = { path, body: JSON.parse(text) as Record<string, unknown> }
    this.asked.push(asked)
    const turn = this.turn(asked)
    if (turn.refusal !== undefined) {
      const { status, body } = turn.refusal
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      return
    }
    const events = path.endsWith('/messages')
      ? messagesEvents(turn, this.asked.length)
      : chatEvents(turn, this.asked.length)
    if (asked.body['stream'] === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.stream)
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(events.whole))
    }
  }
}

interface Answer {
  readonly stream: string
  readonly whole: object
}

function chatEvents({ text, reasoning, calls = [], promptTokens = TURN_USAGE.prompt }: Turn, n: number): Answer {
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: TURN_USAGE.completion,
    total_tokens: promptTokens + TURN_USAGE.completion,
  }
  const finish = calls.length > 0 ? 'tool_calls' : 'stop'
  const made = calls.map(({ extra, ...said }, index) => ({
    index,
    id: `call_${n}_${index}`,
    type: 'function',
    function: said,
    ...(extra !== undefined && { extra_content: extra }),
  }))
  const head = { id: 'up', created: 1, model: 'm' }
  const chunk = (delta: object, end: string | null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: end }],
  })
  const chunks = [
    ...(reasoning === undefined ? [] : [chunk({ reasoning_content: reasoning }, null)]),
    ...(text === undefined ? [] : [chunk({ role: 'assistant', content: text }, null)]),
    ...made.flatMap(({ function: said, ...call }) => [
      chunk({ tool_calls: [{ ...call, function: { name: said.name, arguments: '' } }] }, null),
      chunk({ tool_calls: [{ index: call.index, function: { arguments: said.arguments } }] }, null),
    ]),
    chunk({}, finish),
    { ...head, object: 'chat.completion.chunk', choices: [], usage },
  ]
  const message = {
    role: 'assistant',
    content: text ?? null,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(made.length > 0 && { tool_calls: made.map(({ index: _index, ...call }) => call) }),
  }
  return {
    stream: `${chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')}data: [DONE]\n\n`,
    whole: { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage },
  }
}

function messagesEvents(
  { text, reasoning, redacted, calls = [], promptTokens = TURN_USAGE.prompt }: Turn,
  n: number,
): Answer {
  const content = [
    ...(redacted === undefined ? [] : [{ type: 'redacted_thinking', data: redacted }]),
    ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: `signed ${n}` }]),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(({ name, arguments: given }, i) => ({
      type: 'tool_use',
      id: `toolu_${n}_${i}`,
      name,
      input: JSON.parse(given) as unknown,
    })),
  ]
  const usage = { input_tokens: promptTokens, output_tokens: TURN_USAGE.completion }
  const stop = calls.length > 0 ? 'tool_use' : 'end_turn'
  const head = { id: 'msg_up', type: 'message', role: 'assistant', model: 'm', stop_sequence: null }
  const events: { type: string }[] = [
    event('message_start', {
      message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    }),
    ...content.flatMap(blockEvents),
    event('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 20 } }),
    event('message_stop', {}),
  ]
  return {
    stream: events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join(''),
    whole: { ...head, content, stop_reason: stop, usage },
  }
}

type Block = { readonly type: string; readonly [member: string]: unknown }

function blockEvents(block: Block, index: number): { type: string }[] {
  const deltas: object[] = []
  let start: Block = block
  if (block.type === 'text') {
    start = { type: 'text', text: '' }
    deltas.push({ type: 'text_delta', text: block['text'] })
  } else if (block.type === 'thinking') {
    start = { type: 'thinking', thinking: '', signature: '' }
    deltas.push({ type: 'thinking_delta', thinking: block['thinking'] })
    deltas.push({ type: 'signature_delta', signature: block['signature'] })
  } else if (block.type === 'tool_use') {
    start = { ...block, input: {} }
    deltas.push({ type: 'input_json_delta', partial_json: JSON.stringify(block['input']) })
  }
  return [
    event('content_block_start', { index, content_block: start }),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ]
}

function event(type: string, members: object): { type: string } {
  return { type, ...members }
}
