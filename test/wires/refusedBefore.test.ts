// Goal: what a model takes of no request costs a second attempt once, not with every request of its users.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { postJson } from '../support/clients/mediaClient.ts'
import { turnCatalog } from '../support/providers/turnCatalog.ts'
import { refusal, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO } from './blockRows.ts'

const EFFORTS = "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'"
const STOPS = "Unsupported parameter: 'stop_sequences' is not supported with this model."

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start(({ body, path }) => {
    const text = JSON.stringify(body)
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

async function attemptsOf(more: object): Promise<number> {
  const before = provider.asked.length
  const body = { model: 'test/anthropic', messages: [HELLO], ...more }
  const reply = await postJson(`${stack.baseUrl}/v1/chat/completions`, apiKey, body)
  assert.equal(reply.status, 200, reply.text)
  return provider.asked.length - before
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
