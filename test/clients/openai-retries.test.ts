import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { APIError, InternalServerError } from 'openai'
import { receiptIn, thrownBy } from '../support/clients/officialClient.ts'
import { OpenaiClients } from '../support/clients/openaiClients.ts'
import { assertReconciled } from '../support/reconcile.ts'
import { type Stack, startStack } from '../support/stack.ts'

const MODEL = 'test/small'
/** Far more than a key of ten requests a minute is served without a wait. */
const SERVED_MAX = 100
const MESSAGES: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'hello' }]

let stack: Stack
let clients: OpenaiClients

before(async () => {
  stack = await startStack({
    limits: { breakerFailures: 1, breakerOpenMs: 10_000, requestBurst: 5 },
    catalog: { models: [{ id: MODEL }, { id: 'test/recovers', upstream: 'mock,fail_first=4' }] },
  })
  clients = new OpenaiClients(stack)
})

after(() => stack.finish())

test('the client waits out Retry-After of a 429 and is served then', async () => {
  // One request in six seconds, five at once. On a machine that stood still the next one has come meanwhile.
  const eager = await clients.create(['--rpm', '10'])
  let tookMs = 0
  for (let served = 0; served < SERVED_MAX && clients.sent < 2; served++) {
    clients.sent = 0
    const startedMs = Date.now()
    await eager.chat.completions.create({ model: MODEL, messages: MESSAGES })
    tookMs = Date.now() - startedMs
  }
  assert.equal(clients.sent, 2)
  assert.ok(tookMs >= 950, `it took ${tookMs} ms`)
})

test('the client retries a 502 and a 503 and waits for Retry-After', async () => {
  const hasty = await clients.create([], { maxRetries: 0 })
  for (let i = 0; i < 3; i++) {
    const request = hasty.chat.completions.create({ model: 'test/recovers', messages: MESSAGES })
    await assert.rejects(request, InternalServerError)
  }
  const patient = await clients.create([], { maxRetries: 3 })
  clients.sent = 0
  const startedMs = Date.now()
  const completion = await patient.chat.completions.create({ model: 'test/recovers', messages: MESSAGES })
  const tookMs = Date.now() - startedMs
  // The first is the fourth to fail at the provider and opens the breaker, the next finds it open, the last is served.
  assert.equal(clients.sent, 3)
  assert.ok(tookMs >= 1_300, `it took ${tookMs} ms`)
  const outcomes = (await stack.provider.log()).filter((line) => line.model === 'mock,fail_first=4')
  assert.deepEqual(
    outcomes.slice(-2).map((line) => line.outcome),
    ['error', 'complete'],
  )
  assertReconciled(receiptIn(completion), outcomes)
})

test('the client does not retry errors that are not retryable', async () => {
  const poor = clients.of((await stack.createAccount({ credits: '0.00000001' })).apiKey, { maxRetries: 3 })
  clients.sent = 0
  const error = await thrownBy<APIError>(APIError, () =>
    poor.chat.completions.create({ model: MODEL, messages: MESSAGES }),
  )
  assert.deepEqual([error.status, error.code, error.type], [402, 'insufficient_balance', 'insufficient_quota'])
  assert.equal(error.headers?.get('x-should-retry'), 'false')
  assert.equal(clients.sent, 1)
})
