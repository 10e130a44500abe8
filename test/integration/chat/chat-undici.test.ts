import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, chat, chatStream, completion } from '../../support/clients/chatClient.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack } from '../../support/stack.ts'

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    env: { SLUICE_TRANSPORT: 'undici' },
    catalog: {
      models: [
        { id: 'test/small', upstream: 'mock,chunks=30,split=11' },
        { id: 'test/cut', upstream: 'mock,chunks=30,cut=4' },
        { id: 'test/reset', upstream: 'mock,reset' },
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})
after(() => stack.finish())

test('the other transport serves the same answers and charges', async () => {
  const whole = completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' }))
  const streamed = await chatStream(stack.baseUrl, apiKey, { model: 'test/small' })
  assert.ok(streamed.done && streamed.receipt !== null)
  assert.equal(streamed.receipt.cost.units, whole.receipt.cost.units)
  const log = await stack.provider.log()
  assertReconciled(whole.receipt, log)
  assertReconciled(streamed.receipt, log)
})

test('and the same errors', async () => {
  const cut = await chatStream(stack.baseUrl, apiKey, { model: 'test/cut' })
  assert.equal(cut.receipt?.status, 'partial')
  assertError(await chat(stack.baseUrl, apiKey, { model: 'test/reset' }), 502, 'upstream_unavailable')
})
