// Goal: what a model takes of no request costs a second attempt once, not with every request of its users.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { postJson } from '../support/clients/mediaClient.ts'
import { turnCatalog } from '../support/providers/turnCatalog.ts'
import { refusal, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO } from './blockRows.ts'

const EFFORTS = "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'"
const TOOLS =
  "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
const STOPS = "Unsupported parameter: 'stop_sequences' is not supported with this model."

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start(({ body, path }) => {
    const text = JSON.stringify(body)
    const isChat = path.endsWith('/chat/completions')
    if (isChat && body['tools'] !== undefined && body['reasoning_effort'] !== 'none') return refusal(TOOLS, path)
    if (text.includes('"xhigh"')) return refusal(EFFORTS, path)
    return text.includes('"stop_sequences"') ? refusal(STOPS, path) : { text: 'ok' }
  })
  stack = await startStack({ catalog: turnCatalog(provider.url, { thinking: 'effort' }) })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

async function asked(path: string, body: object): Promise<{ attempts: number; dropped: string | null }> {
  const before = provider.asked.length
  const reply = await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, body)
  assert.equal(reply.status, 200, reply.text)
  return { attempts: provider.asked.length - before, dropped: reply.headers.get('x-dropped-parameters') }
}

async function attemptsOf(more: object): Promise<number> {
  const { attempts } = await asked('chat/completions', { model: 'test/anthropic', messages: [HELLO], ...more })
  return attempts
}

test('a part that the model refuses of every request is not sent again for a while', async () => {
  const body = { reasoning_effort: 'xhigh' }
  assert.deepEqual([await attemptsOf(body), await attemptsOf(body)], [2, 1])
  assert.ok(JSON.stringify(provider.last.body).includes('"effort":"high"'))
  assert.equal(await attemptsOf({ reasoning_effort: 'medium' }), 1)
  assert.ok(JSON.stringify(provider.last.body).includes('"effort":"medium"'))
})

test('what may be refused of one request alone is sent with the next', async () => {
  const body = { stop: ['x'] }
  assert.deepEqual([await attemptsOf(body), await attemptsOf(body)], [2, 2])
})

test('a model that thinks with tools in another format alone does not think with them, and thinks without them', async () => {
  const chat = { model: 'test/openai', messages: [HELLO], reasoning_effort: 'high' }
  const calls = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
  const first = await asked('chat/completions', { ...chat, tools: [calls] })
  assert.deepEqual(first, { attempts: 2, dropped: 'reasoning_effort' })
  assert.equal(provider.last.body['reasoning_effort'], 'none')
  assert.deepEqual(await asked('chat/completions', chat), { attempts: 1, dropped: null })
  assert.equal(provider.last.body['reasoning_effort'], 'high')
  const flat = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
  const responses = await asked('responses', { model: 'test/openai', input: 'hi', tools: [flat] })
  assert.deepEqual(responses, { attempts: 1, dropped: null })
  assert.equal(provider.last.body['reasoning_effort'], 'none')
  const native = [{ name: 'f', input_schema: { type: 'object' } }]
  const body = {
    model: 'test/openai',
    max_tokens: 100,
    messages: [HELLO],
    output_config: { effort: 'high' },
    tools: native,
  }
  assert.deepEqual(await asked('messages', body), { attempts: 1, dropped: null })
  assert.equal(provider.last.body['reasoning_effort'], 'none')
})
