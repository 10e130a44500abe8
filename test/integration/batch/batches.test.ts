// Goal: a batch job is held for, run once, charged once at batch rates, and shown to its key alone, over providers with
// and without batches of their own. Method: whole stacks; what is charged is compared with the provider's own books.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { api, apiOk, assertRefused } from '../../support/clients/apiClient.ts'
import {
  assertBatchReconciled,
  assertSigned,
  BATCH_PRICE,
  BATCH_PRICES,
  BATCHING,
  type BatchJob,
  ended,
  HookReceiver,
  submit,
  submitted,
  upstreamBatches,
} from '../../support/clients/batchClient.ts'
import { chat, chatStream, completion, type Receipt } from '../../support/clients/chatClient.ts'
import { type PublicSheet, recomputedUnits } from '../../support/recompute.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const model = (id: string, upstream: string, more: object = {}) => ({ id, upstream, price: BATCH_PRICE, ...more })
const MODELS = [
  model('test/batch', 'chat-small,prompt=100,completion=10'),
  model('test/half', 'half,ends=expired,prompt=50,completion=5'),
  model('test/refused', 'refused,ends=failed'),
  model('test/bad', 'bad,badlines'),
  model('test/twice', 'twice,twice,prompt=20,completion=7'),
  model('test/nousage', 'nousage,usage=none'),
  model('test/many', 'many,prompt=5000,completion=100'),
  model('test/plain', '', { routes: [{ provider: 'plain', model: 'plain,prompt=30,completion=3' }] }),
  model('test/plain-busy', '', { routes: [{ provider: 'plain', model: 'busy,fail_first=2,prompt=30,completion=3' }] }),
  model('test/plain-400', '', { routes: [{ provider: 'plain', model: 'no,error=400' }] }),
  model('test/plain-cut', '', { routes: [{ provider: 'plain', model: 'no,reset' }] }),
  { id: 'test/nobatch' },
  model('test/attested', 'chat-small,prompt=300,cached=50,cache_write=100,completion=7', {
    attested: true,
    price_private: { input: '3', output: '4', cache_write_5m: '3.75' },
  }),
  // Cached tokens have no batch rate of their own, and cost less at the standard rate than batch input.
  model('test/cached', 'cached,prompt=1000,cached=800,completion=5', {
    price: { input: '1', output: '2', cached_input: '0.1', batch_input: '0.5', batch_output: '1' },
  }),
  model('test/long', 'long,prompt=5000,cached=1000,completion=20', {
    price: {
      input: '1',
      output: '2',
      batch_input: '0.5',
      batch_output: '1',
      long_context: {
        threshold: 4000,
        input: '2',
        output: '4',
        cached_input: '1',
        batch_input: '1.5',
        batch_output: '2',
      },
    },
  }),
  model('test/claude', '', { routes: [{ provider: 'claude', model: 'chat-small' }] }),
]
const LIMITS = {
  batchGatherMs: 300,
  batchTickMs: 50,
  batchPollMs: 100,
  batchRetryMs: 100,
  housekeepingMs: 300,
  apiRequestsPerMinute: 60_000,
  apiRequestBurst: 10_000,
}

let stack: Stack
let key: string
let hooks: HookReceiver

before(async () => {
  hooks = await HookReceiver.start()
  const providers = [{ ...BATCHING, attested: true }, { id: 'plain' }, { id: 'claude', dialect: 'anthropic' }]
  const env = { SLUICE_WEBHOOKS_PRIVATE: '1' }
  stack = await startStack({ catalog: { models: MODELS, providers }, limits: LIMITS, env })
  key = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  hooks?.stop()
  await stack?.finish()
})

test('the openai client submits a job, and reads its state and its result', async () => {
  const client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: key, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'hello' }]
  const tagged = { user: 'alice', metadata: { team: 'search' } }
  const made = await client.chat.completions.create({ model: 'test/batch:batch', messages, ...tagged }).withResponse()
  assert.equal(made.response.status, 202)
  const job = made.data as unknown as BatchJob
  assert.deepEqual([job.object, job.status, job.rate, job.receipt], ['batch.job', 'submitted', 'batch', null])
  assert.match(job.id, /^batch_/)
  assert.ok(Number(job.hold.units) > 0 && job.price['batch_input'] === '0.5')
  assert.equal(job.expires_at - job.created_at, 86_400)
  // On a machine that stood still the job may be over already.
  const early = await client.get(`/batches/${job.id}/result`).catch((error: unknown) => error)
  if (early instanceof OpenAI.APIError) assert.deepEqual([early.status, early.code], [404, 'not_ready'])
  const over = await ended(stack, key, job)
  assert.equal(over.status, 'done')
  const shown = await client.batches.retrieve(job.id)
  assert.equal((shown as unknown as BatchJob).status, 'done')
  const result = await client.get<OpenAI.ChatCompletion & { receipt: BatchJob['receipt'] }>(`/batches/${job.id}/result`)
  assert.deepEqual([result.id, result.object, result.model], [job.request_id, 'chat.completion', 'test/batch'])
  assert.equal(result.choices[0]?.message.role, 'assistant')
  assert.deepEqual([result.usage?.prompt_tokens, result.usage?.completion_tokens], [100, 10])
  assert.equal(result.receipt?.cost.units, '60000')
  assertBatchReconciled(over, await upstreamBatches(stack))
  await until(
    'the file is removed',
    async () => (await (await fetch(new URL('/_files', stack.provider.url()))).text()) === '[]',
  )
  await stack.settled()
  const receipt = await api(stack.baseUrl, 'GET', `/v1/receipts/${job.request_id}`, { token: key })
  const { log: _, tags_hash: hash, ...booked } = receipt.body
  assert.deepEqual(booked, over.receipt)
  assert.deepEqual([booked['user'], booked['tags']], ['alice', { team: 'search' }])
  assert.match(String(hash), /^[0-9a-f]{64}$/)
})

test('jobs of one model are sent in one batch, and each is charged separately', async () => {
  const jobs = await Promise.all(
    Array.from({ length: 12 }, (_, i) => submitted(stack, key, { model: 'test/batch', max_tokens: 100 + i })),
  )
  const over = await Promise.all(jobs.map((job) => ended(stack, key, job)))
  const batches = await upstreamBatches(stack)
  for (const job of over) assertBatchReconciled(job, batches)
  // On a machine that stands still, any of them may come too late for the batch of the others.
  const used = batches.filter((batch) => over.some(({ id }) => batch.custom_ids.includes(id)))
  assert.ok(used.length < over.length, 'jobs travelled alone')
})

test('a duplicate result line is charged once', async () => {
  const over = await ended(stack, key, await submitted(stack, key, { model: 'test/twice' }))
  assertBatchReconciled(over, await upstreamBatches(stack))
})

test('requests that the provider had no time for expire, and completed ones are returned', async () => {
  const jobs = await Promise.all([1, 2, 3, 4].map(() => submitted(stack, key, { model: 'test/half' })))
  const over = await Promise.all(jobs.map((job) => ended(stack, key, job)))
  const batches = await upstreamBatches(stack)
  for (const job of over.filter((one) => one.status === 'done')) assertBatchReconciled(job, batches)
  const expired = over.filter((job) => job.status === 'expired')
  // Every second line of a batch; jobs that came late travel in another one.
  const sent = batches.filter((batch) => over.some(({ id }) => batch.custom_ids.includes(id)))
  const left = sent.reduce((sum, batch) => sum + Math.floor(batch.custom_ids.length / 2), 0)
  assert.equal(expired.length, left)
  for (const job of expired) {
    assert.equal(job.receipt?.cost.units, '0')
    assertRefused(await api(stack.baseUrl, 'GET', job.result, { token: key }), 409, 'batch_expired')
  }
})

for (const name of ['refused', 'bad', 'plain-400', 'plain-cut']) {
  test(`a job that fails at the provider (${name}) is not charged`, async () => {
    const over = await ended(stack, key, await submitted(stack, key, { model: `test/${name}` }))
    assert.deepEqual([over.status, over.error?.code, over.receipt?.cost.units], ['failed', 'batch_failed', '0'])
    const answer = await api(stack.baseUrl, 'GET', over.result, { token: key })
    assertRefused(answer, 409, 'batch_failed')
    assert.equal((answer.body as { error: { type: string } }).error.type, 'upstream_error')
    assert.equal(answer.headers.get('x-should-retry'), 'false')
  })
}

test('a provider without batches is called once for each job', async () => {
  const jobs = await Promise.all([1, 2, 3, 4, 5, 6].map(() => submitted(stack, key, { model: 'test/plain' })))
  for (const job of await Promise.all(jobs.map((one) => ended(stack, key, one)))) {
    assert.equal(job.status, 'done')
    assertReconciled(job.receipt ?? assert.fail(), await stack.provider.log(), BATCH_PRICES)
  }
})

test('a provider that rejects temporarily is retried', async () => {
  const over = await ended(stack, key, await submitted(stack, key, { model: 'test/plain-busy' }))
  assert.equal(over.status, 'done')
  assertReconciled(over.receipt ?? assert.fail(), await stack.provider.log(), BATCH_PRICES)
})

test('an answer without usage is estimated, one beyond the hold is clamped', async () => {
  const [silent, dear] = await Promise.all([
    submitted(stack, key, { model: 'test/nousage' }),
    submitted(stack, key, { model: 'test/many', max_tokens: 5 }),
  ])
  const estimated = await ended(stack, key, silent)
  assert.equal(estimated.receipt?.usage_source, 'estimated')
  assert.ok(Number(estimated.receipt?.cost.units) > 0)
  const clamped = await ended(stack, key, dear)
  assert.deepEqual([clamped.receipt?.clamped, clamped.receipt?.cost.units], [true, clamped.hold.units])
})

test('a job is visible only to the key that created it', async () => {
  const job = await submitted(stack, key, { model: 'test/batch' })
  const own = `${stack.baseUrl}/v1/batches/${job.id}`
  assert.deepEqual([job.poll, job.result], [own, `${own}/result`])
  const other = (await stack.createAccount()).apiKey
  for (const path of [job.poll, job.result]) {
    assertRefused(await api(stack.baseUrl, 'GET', path, { token: other }), 403, 'permission_denied')
    assertRefused(await api(stack.baseUrl, 'GET', path, {}), 401, 'invalid_api_key')
  }
  assertRefused(await api(stack.baseUrl, 'GET', '/v1/batches/batch_1', { token: key }), 404, 'batch_not_found')
})

test('an invalid batch request is rejected without a hold', async () => {
  const noLogs = (await stack.createAccount({ args: ['--no-logs'] })).apiKey
  const isPrivate = (await stack.createAccount({ args: ['--private-tier'] })).apiKey
  const poor = (await stack.createAccount({ credits: '0.000000001' })).apiKey
  const rows: [string, string, object, number, string | null][] = [
    ['no batch rates', key, { model: 'test/nobatch' }, 400, 'batch_unavailable'],
    ['streamed', key, { model: 'test/batch', stream: true }, 400, 'batch_unavailable'],
    ['no logs', noLogs, { model: 'test/batch' }, 400, 'batch_unavailable'],
    ['private key', isPrivate, { model: 'test/batch' }, 400, 'private_batch_unavailable'],
    ['attested hardware', key, { model: 'test/attested' }, 400, 'private_batch_unavailable'],
    ['another dialect', key, { model: 'test/claude' }, 400, 'batch_unavailable'],
    ['no money', poor, { model: 'test/batch' }, 402, 'insufficient_balance'],
    ['no address', key, { model: 'test/batch', webhook_url: 'ftp://example.com/' }, 400, null],
    ['no text', key, { model: 'test/batch', webhook_url: 5 }, 400, null],
    ['no boolean', key, { model: 'test/batch', batch: 'yes' }, 400, null],
    ['unknown model', key, { model: 'test/none:batch' }, 404, 'model_not_found'],
  ]
  for (const [name, token, body, status, code] of rows) {
    const answer = await submit(stack, token, body)
    const { error } = answer.body as never as { error: { code: string; message: string } }
    assert.deepEqual([answer.status, error.code], [status, code], name)
    if (code === 'batch_unavailable') assert.match(error.message, /; (leave|send) /, name)
  }
  const paid = await api(stack.baseUrl, 'POST', '/x402/v1/chat/completions', {
    body: { model: 'test/batch', messages: [{ role: 'user', content: 'hi' }], batch: true },
  })
  assert.ok(paid.status >= 400)
})

test('the webhook of a job is signed and delivered once', async () => {
  const job = await submitted(stack, key, { model: 'test/batch', webhook_url: hooks.url })
  const secret = job.webhook?.secret ?? assert.fail('the secret is not shown')
  await ended(stack, key, job)
  await until('it is delivered', () => hooks.received.some((hook) => hook.body.includes(job.id)))
  const [hook] = hooks.received.filter((one) => one.body.includes(job.id))
  assertSigned(hook ?? assert.fail(), secret)
  const told = JSON.parse(hook?.body ?? '') as { id: string; type: string; data: BatchJob }
  assert.deepEqual([told.id, told.type, told.data.id, told.data.status], [hook?.id, 'batch.done', job.id, 'done'])
  assert.equal(told.data.webhook, undefined)
  await until('it is noted', async () => (await logOf(hook?.id ?? '')).length === 1)
  assert.deepEqual(
    (await logOf(hook?.id ?? '')).map((one) => [one.attempt, one.status, one.fault]),
    [[1, 200, '']],
  )
})

async function logOf(webhookId: string): Promise<{ attempt: number; status: number; fault: string }[]> {
  const result = await stack.cli('batch', 'deliveries', webhookId)
  return (result.json as { data: { attempt: number; status: number; fault: string }[] }).data
}

test('every charge can be recomputed from public data', async () => {
  const isPrivate = (await stack.createAccount({ credits: '1', args: ['--private-tier'] })).apiKey
  const shown: [receipt: Receipt | null | undefined, rate: string, tier: string, units: string][] = []
  for (const [name, standard, batch] of [
    // 200 tokens, 800 cached ones, 5 of output: in a batch at 0.5, 0.1 and 1 USD per million.
    ['test/cached', '290000', '185000'],
    // 4000 tokens, 1000 cached ones, 20 of output at the rates for long prompts.
    ['test/long', '9080000', '7040000'],
  ] as const) {
    const reply = await chat(stack.baseUrl, key, { model: name })
    shown.push([completion(reply).receipt, 'standard', 'standard', standard])
    const job = await ended(stack, key, await submitted(stack, key, { model: name }))
    shown.push([job.receipt, 'batch', 'standard', batch])
  }
  // 150 tokens, 50 cached ones, 100 written to the cache, 7 of output.
  const ask = () => chatStream(stack.baseUrl, isPrivate, { model: 'test/attested' })
  await until('the hardware is verified', async () => (await ask()).status === 200)
  const privately = await ask()
  shown.push([privately.receipt, 'standard', 'private', '1003000'])
  await stack.settled()
  for (const [receipt, rate, tier, units] of shown) {
    assert.ok(receipt)
    assert.deepEqual([receipt.rate, receipt.tier, receipt.cost.units, receipt.clamped], [rate, tier, units, false])
    const booked = await apiOk<Receipt>(stack.baseUrl, 'GET', `/x402/v1/receipts/${receipt.request_id}`)
    const { log: _, ...fields } = booked
    assert.deepEqual(fields, receipt)
    const sheet = await apiOk<PublicSheet>(stack.baseUrl, 'GET', `/v1/pricing/sheets/${booked.price_sheet}`)
    assert.equal(String(recomputedUnits(booked, sheet)), booked.cost.units)
  }
  const { data } = await apiOk<{ data: Receipt[] }>(stack.baseUrl, 'GET', '/v1/receipts?limit=1', { token: isPrivate })
  assert.deepEqual([data[0]?.rate, data[0]?.tier], ['standard', 'private'])
})
