// Goal: no answer of a provider, however broken, is a fault of the gateway, for clients of any format, streamed or not.
// Method: answers with every known member are changed, at each place and at random, and served by the proxy's own routes
// without sockets. SLUICE_FUZZ_SEED repeats a seed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { newProxy } from '../../support/parts/soundRequests.ts'
import { rounds } from '../../support/rounds.ts'
import { Mutator, newSeed, seededRandom, withoutTexts } from '../../support/samples/mutations.ts'
import { ANSWERS } from '../../support/samples/providerAnswers.ts'

const CHANGED = rounds({ short: 30, long: 5_000 })
const FUNCTION = { name: 'get', parameters: { type: 'object' } }
const messages = [{ role: 'user', content: 'x' }]
const REQUESTS: readonly (readonly [path: string, body: object])[] = [
  ['/v1/chat/completions', { messages, max_tokens: 500, tools: [{ type: 'function', function: FUNCTION }] }],
  ['/v1/messages', { messages, max_tokens: 500, tools: [{ name: 'get', input_schema: { type: 'object' } }] }],
  ['/v1/responses', { input: 'x', max_output_tokens: 500, tools: [{ type: 'function', ...FUNCTION }] }],
  ['/v1/completions', { prompt: 'x', max_tokens: 5 }],
]

/** The events of a stream as a provider sends them. */
function sseOf(events: readonly unknown[], provider: string): string {
  const frames = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  return provider === 'mock' ? `${frames}data: [DONE]\n\n` : frames
}

function* changesOf(text: string, mutator: Mutator): Generator<string> {
  yield text
  yield* withoutTexts(text)
  for (let i = 0; i < CHANGED; i++) yield mutator.mutate(text).toString()
}

function parsedEvents(text: string): readonly unknown[] {
  try {
    const events: unknown = JSON.parse(text)
    return Array.isArray(events) ? events : [events]
  } catch {
    return []
  }
}

for (const [provider, { whole, streams }] of Object.entries(ANSWERS)) {
  for (const [path, request] of REQUESTS) {
    if (path === '/v1/completions' && provider !== 'mock') continue
    for (const stream of [false, true]) {
      test(`no answer of ${provider} to ${path} causes an internal error, ${stream ? 'streamed' : 'in one piece'}`, async () => {
        const seed = newSeed()
        const mutator = new Mutator(seededRandom(seed))
        const proxy = newProxy([provider])
        const body = Buffer.from(JSON.stringify({ model: 'test/chat', stream, ...request }))
        let good = 0
        const send = async (contentType: string, answer: string): Promise<void> => {
          proxy.answer = { contentType, body: Buffer.from(answer) }
          const { status, text } = await proxy.send(path, body)
          const isFault = status === 500 || text.includes('"internal_error"') || proxy.faults.length > 0
          if (isFault) assert.fail(`seed ${seed}: ${answer.slice(0, 5_000)}\n${inspect(proxy.faults[0])}`)
          if (status === 200) good++
        }
        for (const answer of whole) {
          for (const text of changesOf(JSON.stringify(answer), mutator)) await send('application/json', text)
        }
        for (const events of streams) {
          for (const text of changesOf(JSON.stringify(events), mutator)) {
            await send('text/event-stream', sseOf(parsedEvents(text), provider))
          }
        }
        // Many have to be read to their end, else what comes behind the first check is not tried.
        assert.ok(good > CHANGED, `${good} were answered with 200`)
      })
    }
  }
}
