// Goal: what binds an agent binds its batch jobs: its allowlist, its cap on a request, its owner's approval, which a job
// that ends without a charge leaves to the next attempt. Method: a whole stack, decided over HTTP.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { api, apiOk, assertRefused, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import {
  assertBatchReconciled,
  BATCH_PRICE,
  BATCHING,
  type BatchJob,
  ended,
  submit,
  upstreamBatches,
} from '../../support/clients/batchClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const SLUG = 'batcher'
const model = (id: string, upstream: string) => ({ id, upstream, price: BATCH_PRICE })

let stack: Stack
let owner: Owner
let key: string

before(async () => {
  const models = [
    model('test/batch', 'quick,prompt=100,completion=10'),
    model('test/refused', 'refused,ends=failed'),
    model('test/other', 'other'),
  ]
  const limits = {
    batchGatherMs: 200,
    batchTickMs: 50,
    batchPollMs: 100,
    batchRetryMs: 100,
    apiRequestsPerMinute: 60_000,
    apiRequestBurst: 10_000,
  }
  stack = await startStack({ catalog: { models, providers: [BATCHING] }, limits })
  owner = await newOwner(stack, { coin: '10' })
  const body = {
    slug: SLUG,
    approval_threshold: '0.001',
    request_cap: '0.01',
    models: ['test/batch', 'test/refused'],
  }
  const { token } = owner
  await apiOk(stack.baseUrl, 'POST', '/v1/agents', { token, body })
  key = (await apiOk<{ api_key: string }>(stack.baseUrl, 'POST', `/v1/agents/${SLUG}/key`, { token })).api_key
  await apiOk(stack.baseUrl, 'POST', `/v1/agents/${SLUG}/fund`, { token, body: { amount: '5' } })
})

after(() => stack?.finish())

const order = (more: object) => ({ model: 'test/batch', max_tokens: 1_000, ...more })

async function approved(body: object): Promise<string> {
  const waiting = await submit(stack, key, body)
  assert.equal(waiting.status, 202, waiting.text)
  const { id, type } = waiting.body as unknown as { id: string; type: string }
  assert.equal(type, 'approval_required')
  const path = `/v1/agents/${SLUG}/approvals/${id}/approve`
  await apiOk(stack.baseUrl, 'POST', path, { token: owner.token, body: {} })
  return id
}

async function taken(body: object, approvalId: string): Promise<BatchJob> {
  const answer = await submit(stack, key, body, { 'x-approval-id': approvalId })
  assert.equal(answer.status, 202, answer.text)
  assert.equal(answer.body.object, 'batch.job')
  return answer.body
}

test('a job above the threshold waits for the owner and runs once', async () => {
  const body = order({})
  const approvalId = await approved(body)
  const job = await taken(body, approvalId)
  const again = await submit(stack, key, body, { 'x-approval-id': approvalId })
  assertRefused(again, 409, 'approval_used')
  assertBatchReconciled(await ended(stack, key, job), await upstreamBatches(stack))
  assertRefused(await submit(stack, key, body, { 'x-approval-id': approvalId }), 409, 'approval_used')
})

test('a failed job returns its approval for the next attempt', async () => {
  const body = order({ model: 'test/refused' })
  const approvalId = await approved(body)
  const failed = await ended(stack, key, await taken(body, approvalId))
  assert.equal(failed.status, 'failed')
  assert.equal((await ended(stack, key, await taken(body, approvalId))).status, 'failed')
})

test('a request off the allowlist or above the cap does not become a job', async () => {
  assertRefused(await submit(stack, key, order({ model: 'test/other' })), 403, 'model_not_allowed')
  assertRefused(await submit(stack, key, order({ max_tokens: 10_000 })), 402, 'request_cap_exceeded')
})

test("the owner's key does not read the agent's job", async () => {
  const small = await submit(stack, key, order({ max_tokens: 10 }))
  assert.equal(small.status, 202, small.text)
  assertRefused(await api(stack.baseUrl, 'GET', small.body.poll, { token: owner.apiKey }), 403, 'permission_denied')
  await ended(stack, key, small.body)
})
