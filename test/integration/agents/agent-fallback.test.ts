// Goal: an agent's policy bounds a request whichever model serves it: its models, its cap on one request, and its owner's approval.
// Method: an agent asks for a model that serves or fails, with a dearer one behind it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AgentClient } from '../../support/clients/agentClient.ts'
import { newOwner } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion } from '../../support/clients/chatClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const DOWN = { model: 'test/down', models: ['test/dear'], max_tokens: 10 }
const UP = { ...DOWN, model: 'test/small' }

let stack: Stack
let agents: AgentClient

before(async () => {
  stack = await startStack({
    limits: { breakerFailures: 1_000_000 },
    catalog: {
      models: [
        { id: 'test/small' },
        { id: 'test/down', upstream: 'mock,error=500' },
        { id: 'test/dear', price: { input: '100', output: '100' } },
      ],
    },
  })
  agents = new AgentClient(stack.baseUrl, await newOwner(stack, { coin: '10' }))
})
after(() => stack.finish())

/** The key of an agent with this policy. */
async function agentWith(policy: object): Promise<string> {
  const { slug, key } = await agents.make({ ...policy })
  await agents.fund(slug, '1')
  return key
}

test('an agent falls back within its models and its cap', async () => {
  const key = await agentWith({ request_cap: '0.5' })
  assert.equal(completion(await chat(stack.baseUrl, key, DOWN)).receipt.model, 'test/dear')
})

test('a model that an agent may not use is left out', async () => {
  const key = await agentWith({ models: ['test/small', 'test/down'] })
  assert.equal(completion(await chat(stack.baseUrl, key, UP)).receipt.model, 'test/small')
  assertError(await chat(stack.baseUrl, key, DOWN), 502, 'upstream_unavailable')
})

test('a cap that pays for the model, and not for the next one, pays for the model alone', async () => {
  const key = await agentWith({ request_cap: '0.0002' })
  const { receipt } = completion(await chat(stack.baseUrl, key, UP))
  assert.deepEqual([receipt.model, receipt.hold.units], ['test/small', '200000'])
  assertError(await chat(stack.baseUrl, key, DOWN), 502, 'upstream_unavailable')
})

test("the owner's approval is asked for by the most that the request can cost", async () => {
  const key = await agentWith({ approval_threshold: '0.0002' })
  completion(await chat(stack.baseUrl, key, { ...UP, models: [] }))
  const reply = await chat(stack.baseUrl, key, UP)
  assert.equal(reply.status, 202, reply.text)
})
