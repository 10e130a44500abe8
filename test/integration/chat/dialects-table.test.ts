import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chat, chatStream, completion, type Receipt } from '../../support/clients/chatClient.ts'
import { type ContentBlock, messages, messagesAnswer, messagesStream } from '../../support/clients/messagesClient.ts'
import { post, readResponseStream, responseOf } from '../../support/clients/responsesClient.ts'
import { present } from '../../support/present.ts'
import { assertReconciled, type TokenPrices } from '../../support/reconcile.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const DIALECTS = ['openai', 'anthropic'] as const
/** Units per token; a prompt of more than 100 tokens is long. */
const SHORT: TokenPrices = { input: 1_000, cached: 100, write5m: 1_250, write1h: 2_000, output: 5_000 }
const LONG: TokenPrices = { input: 2_000, cached: 200, write5m: 2_500, write1h: 4_000, output: 7_000 }
const PRICE = {
  input: '1',
  cached_input: '0.1',
  cache_write_5m: '1.25',
  cache_write_1h: '2',
  output: '5',
  long_context: {
    threshold: 100,
    input: '2',
    cached_input: '0.2',
    cache_write_5m: '2.5',
    cache_write_1h: '4',
    output: '7',
  },
}

/** What a provider does, and what it is charged at. */
interface Case {
  readonly name: string
  readonly behaviour: string
  readonly maxTokens?: number
  readonly prices?: TokenPrices
  /** Reported apart, and part of the output. */
  readonly reasoning?: number
  readonly anthropicOnly?: boolean
}

const CASES: Case[] = [
  { name: 'plain', behaviour: 'prompt=11' },
  { name: 'cut short by max_tokens', behaviour: 'prompt=11', maxTokens: 3 },
  { name: 'a tool call', behaviour: 'tool,chunks=5,prompt=11' },
  { name: 'thinking', behaviour: 'thinking=4,reasoning=40,completion=52,prompt=11', reasoning: 40 },
  { name: 'read from the cache', behaviour: 'prompt=90,cached=60' },
  { name: 'written to the cache', behaviour: 'prompt=90,cache_write=50' },
  { name: 'read and written', behaviour: 'prompt=90,cached=40,cache_write=50,completion=1' },
  { name: 'written for an hour', behaviour: 'prompt=90,cache_write=20,cache_write_1h=30', anthropicOnly: true },
  { name: 'at the threshold', behaviour: 'prompt=100,cached=60' },
  { name: 'long by its cached tokens', behaviour: 'prompt=101,cached=100', prices: LONG },
  { name: 'long and written', behaviour: 'prompt=500,cached=100,cache_write=200', prices: LONG },
  {
    name: 'long and written for an hour',
    behaviour: 'prompt=500,cached=100,cache_write=80,cache_write_1h=120',
    prices: LONG,
    anthropicOnly: true,
  },
  { name: 'long thinking', behaviour: 'thinking=4,reasoning=40,completion=52,prompt=300', prices: LONG, reasoning: 40 },
  { name: 'a tool call from the cache', behaviour: 'tool,chunks=5,prompt=90,cached=60' },
  { name: 'nothing', behaviour: 'usage=zero' },
]

const upstream = (behaviour: string) => `mock,chunks=12,${behaviour}`
const idOf = (dialect: string, name: string) => `${dialect}/${name.replaceAll(/[^a-z0-9]+/g, '-')}`
/** Long enough for the hold to cover every usage of the table. */
const PROMPT = [{ role: 'user', content: 'hello '.repeat(120) }]

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    catalog: {
      providers: DIALECTS.map((dialect) => ({ id: dialect, dialect })),
      models: DIALECTS.flatMap((dialect) =>
        CASES.map(({ name, behaviour }) => ({
          id: idOf(dialect, name),
          endpoints: ['chat', 'messages', 'responses'],
          price: PRICE,
          routes: [{ provider: dialect, model: upstream(behaviour) }],
        })),
      ),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(() => stack.finish())

/** An answer, whatever format it came in. */
interface Said {
  readonly text: string
  readonly thinking: string
  readonly calls: { id: string; name: string; arguments: unknown }[]
  readonly finish: string
  readonly prompt: number
  readonly output: number
  readonly receipt: Receipt
}

const FINISH: Readonly<Record<string, string>> = { end_turn: 'stop', max_tokens: 'length', tool_use: 'tool_calls' }

async function askChat(model: string, stream: boolean, maxTokens: number | undefined): Promise<Said> {
  const body = { model, messages: PROMPT, max_tokens: maxTokens ?? 1_000 }
  if (!stream) {
    const answer = completion(await chat(stack.baseUrl, apiKey, body))
    const [choice] = answer['choices'] as [{ message: Message; finish_reason: string }]
    return said(choice.message, choice.finish_reason, answer['usage'] as ChatUsage, answer.receipt)
  }
  const options = { stream_options: { include_usage: true } }
  const { events, receipt, done } = await chatStream(stack.baseUrl, apiKey, { ...body, ...options })
  assert.ok(done && receipt !== null)
  const message: Message = { content: '', reasoning_content: '', tool_calls: [] }
  let finish = ''
  for (const event of events) {
    for (const choice of event['choices'] as { delta: Delta; finish_reason: string | null }[]) {
      add(message, choice.delta)
      finish = choice.finish_reason ?? finish
    }
  }
  return said(message, finish, events.at(-1)?.['usage'] as ChatUsage, receipt)
}

interface Call {
  readonly id: string
  readonly function: { name: string; arguments: string }
}
interface Message {
  content: string | null
  reasoning_content?: string
  readonly tool_calls?: Call[]
}
interface Delta {
  readonly content?: string | null
  readonly reasoning_content?: string
  readonly tool_calls?: (Partial<Call> & { index: number; function: { name?: string; arguments: string } })[]
}
interface ChatUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
}

function add(message: Message, delta: Delta): void {
  message.content += delta.content ?? ''
  message.reasoning_content += delta.reasoning_content ?? ''
  for (const { index, id, function: part } of delta.tool_calls ?? []) {
    const calls = message.tool_calls ?? []
    if (calls[index] === undefined) {
      assert.ok(typeof id === 'string' && typeof part.name === 'string')
      calls[index] = { id, function: { name: part.name, arguments: part.arguments } }
    } else {
      assert.equal(id, undefined)
      calls[index].function.arguments += part.arguments
    }
  }
}

function said(message: Message, finish: string, usage: ChatUsage, receipt: Receipt): Said {
  return {
    text: message.content ?? '',
    thinking: message.reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({
      id,
      name,
      arguments: JSON.parse(text) as unknown,
    })),
    finish,
    prompt: usage.prompt_tokens,
    output: usage.completion_tokens,
    receipt,
  }
}

async function askMessages(model: string, stream: boolean, maxTokens: number | undefined): Promise<Said> {
  const body = { model, messages: PROMPT, max_tokens: maxTokens ?? 1_000 }
  const streamed = stream ? await messagesStream(stack.baseUrl, apiKey, body) : null
  if (streamed !== null) assert.ok(streamed.done, streamed.text)
  const answer = streamed?.answer ?? messagesAnswer(await messages(stack.baseUrl, apiKey, body))
  const receipt =
    streamed === null
      ? messagesAnswer({ status: 200, headers: new Headers(), text: JSON.stringify(answer) }).receipt
      : streamed.receipt
  assert.ok(receipt !== null)
  const { content, usage } = answer
  const cache = usage.cache_creation_input_tokens + usage.cache_read_input_tokens
  const of = (type: string): ContentBlock[] => content.filter((block) => block.type === type)
  return {
    text: of('text')
      .map((block) => block.text)
      .join(''),
    thinking: of('thinking')
      .map((block) => block.thinking)
      .join(''),
    calls: of('tool_use').map(({ id = '', name = '', input }) => ({ id, name, arguments: input })),
    finish: FINISH[answer.stop_reason ?? ''] ?? '',
    prompt: usage.input_tokens + cache,
    output: usage.output_tokens,
    receipt,
  }
}

async function askResponses(model: string, stream: boolean, maxTokens: number | undefined): Promise<Said> {
  const body = { model, input: PROMPT, max_output_tokens: maxTokens ?? 1_000, stream }
  const reply = await post(stack.baseUrl, '/v1/responses', apiKey, body)
  const streamed = stream ? readResponseStream(reply) : null
  const { output, usage, status, receipt = streamed?.receipt } = streamed?.response ?? responseOf(reply)
  assert.ok(receipt && usage !== null)
  const calls = output.filter((item) => item.type === 'function_call')
  const parts = (type: string) => output.filter((item) => item.type === type)
  return {
    text: parts('message')
      .flatMap((item) => item.content ?? [])
      .map((part) => part.text)
      .join(''),
    thinking: parts('reasoning')
      .flatMap((item) => item.summary ?? [])
      .map((part) => part.text)
      .join(''),
    calls: calls.map(({ call_id: id = '', name = '', arguments: text = '' }) => ({
      id,
      name,
      arguments: JSON.parse(text) as unknown,
    })),
    finish: status === 'incomplete' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
    prompt: usage.input_tokens,
    output: usage.output_tokens,
    receipt,
  }
}

for (const { name, prices = SHORT, maxTokens, anthropicOnly, reasoning = 0 } of CASES) {
  describe(name, () => {
    for (const stream of [true, false]) {
      test(`every format returns the same text and charge over both dialects, stream ${stream}`, async () => {
        const all: { pair: string; said: Said }[] = []
        for (const dialect of DIALECTS) {
          if (anthropicOnly && dialect === 'openai') continue
          const model = idOf(dialect, name)
          all.push({ pair: `chat over ${dialect}`, said: await askChat(model, stream, maxTokens) })
          all.push({ pair: `messages over ${dialect}`, said: await askMessages(model, stream, maxTokens) })
          all.push({ pair: `responses over ${dialect}`, said: await askResponses(model, stream, maxTokens) })
        }
        const log = await stack.provider.log()
        const [first] = all
        for (const { pair, said: each } of all) {
          const { receipt, ...rest } = each
          const { receipt: expected, ...same } = present(first).said
          assert.deepEqual(rest, same, pair)
          assert.equal(receipt.status, 'ok', pair)
          assert.equal(receipt.usage_source, 'reported', pair)
          assert.deepEqual([receipt.usage, receipt.cost], [expected.usage, expected.cost], pair)
          assert.deepEqual(
            [each.prompt, each.output],
            [receipt.usage.prompt_tokens, receipt.usage.completion_tokens],
            pair,
          )
          assert.equal(receipt.usage.reasoning_tokens, reasoning, pair)
          assert.equal(receipt.clamped, false)
          assertReconciled(receipt, log, prices)
        }
      })
    }
  })
}
