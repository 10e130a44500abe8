// Goal: no answer of a provider holds up the event loop, whatever is in it. Method: requests of every operation are served by
// the proxy's own routes without sockets; providers answer with the worst that the bounds let pass, in parts as sockets do.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { limits } from '../../../../../support/limits.ts'
import type { OfflineAnswer } from '../../../../../support/parts/offlineAnswer.ts'
import { newProxy } from '../../../../../support/parts/soundRequests.ts'
import { longestTurn, slowness } from '../../../../../support/parts/turnWatch.ts'
import { sampled } from '../../../../../support/rounds.ts'

/** What a worker may stand still for. */
const TURN_MS = 100
const TRIES = 8
const MIB = 1_048_576
const PARSED = limits.answerParsedBytesMax
const MAX_TOKENS = 16_000
const proxies = { openai: newProxy(['mock']), anthropic: newProxy(['claude']) }
after(() => Promise.all(Object.values(proxies).map((proxy) => proxy.close())))

type ProviderDialect = keyof typeof proxies
const json = (body: string): OfflineAnswer => ({ contentType: 'application/json', body: Buffer.from(body) })
const events = (body: string): OfflineAnswer => ({ contentType: 'text/event-stream', body: Buffer.from(body) })

/** Inner parts of strings of about so many bytes that take long to read. */
const TEXTS: readonly (readonly [string, (bytes: number) => string])[] = [
  ['CJK', (bytes) => '界'.repeat(bytes / 3)],
  ['quotes', (bytes) => '\\"'.repeat(bytes / 2)],
]
const USAGE = '"usage":{"prompt_tokens":1,"completion_tokens":1,"input_tokens":1,"output_tokens":1,"total_tokens":2}'

/** A whole answer of the chat models of a dialect. */
const WHOLE: Readonly<Record<ProviderDialect, (text: string, more?: string) => string>> = {
  openai: (text, more = '') =>
    `{"choices":[{"index":0,"message":{"role":"assistant","content":"${text}"${more}},"text":"","finish_reason":"stop"}],${USAGE}}`,
  anthropic: (text) => `{"content":[{"type":"text","text":"${text}"}],"stop_reason":"end_turn",${USAGE}}`,
}

/** A stream of them with all text in one event, or in as many as are read at once. */
const STREAM: Readonly<Record<ProviderDialect, (text: string) => string>> = {
  openai: (text) =>
    `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],${USAGE}}\n\ndata: [DONE]\n\n`,
  anthropic: (text) =>
    `data: {"type":"message_start","message":{"content":[],${USAGE}}}\n\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},${USAGE}}\n\ndata: {"type":"message_stop"}\n\n`,
}

const messages = [{ role: 'user', content: 'x' }]
const CHATS: readonly (readonly [path: string, body: object])[] = [
  ['/v1/chat/completions', { messages, max_tokens: MAX_TOKENS }],
  ['/v1/messages', { messages, max_tokens: MAX_TOKENS }],
  ['/v1/responses', { input: 'x', max_output_tokens: MAX_TOKENS }],
  ['/v1/completions', { prompt: 'x', max_tokens: MAX_TOKENS }],
]

interface Case {
  readonly what: string
  readonly dialect: ProviderDialect
  readonly path: string
  readonly body: object
  readonly make: () => OfflineAnswer
  /** The bounds let it pass; absent is yes. */
  readonly isServed?: boolean
}

function chatCases(dialect: ProviderDialect): Case[] {
  /** Where both speak one format, events go through as bytes. */
  const relayed = dialect === 'anthropic' ? ['/v1/messages'] : ['/v1/chat/completions', '/v1/completions']
  const spoken = CHATS.filter(([path]) => dialect === 'openai' || path !== '/v1/completions')
  return spoken.flatMap(([path, asked]) => {
    const body = { model: 'test/chat', ...asked }
    const common = { dialect, path, body }
    const streamed = { dialect, path, body: { ...body, stream: true } }
    return TEXTS.flatMap(([name, text]) => [
      { ...common, what: `2 MiB of ${name}`, make: () => json(WHOLE[dialect](text(PARSED - 1_024))) },
      {
        ...streamed,
        what: `an event of ${name} at its bound`,
        isServed: relayed.includes(path),
        make: () => events(STREAM[dialect](text(limits.eventBytesMax - 1_024))),
      },
      {
        ...streamed,
        what: `an event of 1 MiB of ${name}`,
        make: () => events(STREAM[dialect](text(limits.eventParsedBytesMax - 1_024))),
      },
    ])
  })
}

const vectors = (to: number, vector: string) =>
  `{"object":"list","data":[${Array.from({ length: to }, (_, i) => `{"index":${i},"embedding":${vector}}`).join()}],${USAGE}}`
const NUMBERS = `[${Array.from({ length: 2_048 }, (_, i) => `-0.0${10_000_000 + i}`).join()}]`
const BASE64 = `"${Buffer.alloc(8_192, 7).toString('base64')}"`
const inputs = Array.from({ length: 2_048 }, () => 'x')
const embed = (encoding: string) => ({ model: 'test/embedding', input: inputs, encoding_format: encoding })
const documents = Array.from({ length: 10_000 }, (_, i) => `${i}`)

const UNITS: readonly Omit<Case, 'dialect'>[] = [
  {
    what: '48 MiB of numbers',
    path: '/v1/embeddings',
    body: embed('float'),
    make: () => json(vectors(2_048, NUMBERS)),
  },
  {
    what: '48 MiB of numbers that become base64',
    path: '/v1/embeddings',
    body: embed('base64'),
    make: () => json(vectors(2_048, NUMBERS)),
  },
  {
    what: '22 MiB of base64 that become numbers',
    path: '/v1/embeddings',
    body: embed('float'),
    make: () => json(vectors(2_048, BASE64)),
  },
  {
    what: '60 MiB of images',
    path: '/v1/images/generations',
    body: { model: 'test/image', prompt: 'x', n: 2 },
    make: () =>
      json(`{"created":1,"data":[{"b64_json":"${'A'.repeat(30 * MIB)}"},{"b64_json":"${'A'.repeat(30 * MIB)}"}]}`),
  },
  {
    what: '60 MiB of escapes',
    path: '/v1/images/generations',
    body: { model: 'test/image', prompt: 'x', n: 2 },
    make: () => json(`{"created":1,"data":[{"b64_json":"${'\\"'.repeat(30 * MIB)}"}]}`),
  },
  {
    what: '10,000 results',
    path: '/v1/rerank',
    body: { model: 'test/rerank', query: 'q', documents },
    make: () => json(`{"results":[${documents.map((_, i) => `{"index":${i},"relevance_score":0.5}`).join()}]}`),
  },
  {
    what: 'results behind 10 MiB of text',
    path: '/v1/rerank',
    body: { model: 'test/rerank', query: 'q', documents },
    make: () => json(`{"x":"${'\\"'.repeat(5 * MIB)}","results":[{"index":0,"relevance_score":0.5}]}`),
  },
  ...TEXTS.map(([name, text]) => ({
    what: `2 MiB of ${name}`,
    path: '/v1/tools/web.search',
    body: { query: 'x', count: 2 },
    make: () =>
      json(
        `{"web":{"results":[{"title":"${text(limits.toolAnswerBytesMax - 1_024)}","link":"u"}]},"usage":{"results":1}}`,
      ),
  })),
]

const CASES: readonly Case[] = [
  ...chatCases('openai'),
  ...chatCases('anthropic'),
  ...UNITS.map((one) => ({ ...one, dialect: 'openai' as const })),
  ...TEXTS.map(([name, text]) => ({
    what: `${name} by the Model Context Protocol`,
    dialect: 'openai' as const,
    path: '/mcp',
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'chat', arguments: { model: 'test/chat', messages, max_tokens: MAX_TOKENS } },
    },
    make: () => json(WHOLE.openai(text(limits.mcpAnswerBytesMax - 1_024))),
  })),
]

for (const { what, dialect, path, body, make, isServed = true } of sampled(CASES, 8)) {
  test(`${path} of ${dialect}: ${what}`, async (t) => {
    const proxy = proxies[dialect]
    proxy.answer = make()
    const request = Buffer.from(JSON.stringify(body))
    const turns: number[] = []
    let last = ''
    // Code that runs for the first time, and the collection of garbage, may add to any one try.
    while (turns.length < TRIES && Math.min(...turns) > TURN_MS) {
      const { asked } = proxy
      turns.push(
        await longestTurn(async () => {
          const { status, text, bytes } = await proxy.send(path, request)
          last = `${status} ${text.slice(0, 100)} ${bytes ?? text.length}`
          assert.equal(status, isServed ? 200 : 502, last)
        }),
      )
      assert.ok(proxy.asked > asked, last)
    }
    const shown = `${turns.map((ms) => ms.toFixed(1)).join(', ')} ms, ${last}`
    t.diagnostic(shown)
    assert.ok(Math.min(...turns) <= TURN_MS * slowness(), shown)
    assert.deepEqual(proxy.faults, [])
  })
}
