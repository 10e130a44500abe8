// Goal: nobody has providers read prompts that nobody pays. Method: clients that leave streams before the provider has
// answered, in every format; the provider's log says what it took, the receipts what was charged.
import assert from 'node:assert/strict'
import type { ClientRequest } from 'node:http'
import { after, afterEach, before, test } from 'node:test'
import type { Served } from '../../../mock/main.ts'
import { assertError, chat, completion, type Receipt, receiptOf } from '../../support/clients/chatClient.ts'
import { postOpen } from '../../support/clients/socketClient.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const DETACHED_MAX = 4
const TEXT = 'the same few words '.repeat(200)
const MESSAGES = [{ role: 'user', content: TEXT }]
const FORMATS: Readonly<Record<string, { path: string; prompt: Record<string, unknown> }>> = {
  chat: { path: '/v1/chat/completions', prompt: { messages: MESSAGES } },
  completions: { path: '/v1/completions', prompt: { prompt: TEXT } },
  messages: { path: '/v1/messages', prompt: { messages: MESSAGES } },
  responses: { path: '/v1/responses', prompt: { input: TEXT } },
}
const ENDPOINTS = Object.keys(FORMATS)

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: { detachedRequestsMax: DETACHED_MAX, firstByteTimeoutMs: 15_000, drainGraceMs: 500 },
    catalog: {
      providers: [{ id: 'mock' }, { id: 'second' }, { id: 'claude', dialect: 'anthropic' }],
      models: [
        { id: 'test/late', upstream: 'late,slow_headers=1,chunks=100,delay=1000', endpoints: ENDPOINTS },
        {
          id: 'test/translated',
          routes: [{ provider: 'claude', model: 'late,slow_headers=1,chunks=100,delay=1000' }],
          endpoints: ['chat', 'messages', 'responses'],
        },
        {
          id: 'test/failing',
          routes: [
            { provider: 'mock', model: 'failing,slow_headers=1,error=500' },
            { provider: 'second', model: 'other' },
          ],
        },
        {
          id: 'test/silent',
          routes: [
            { provider: 'mock', model: 'silent,slow_headers=60000' },
            { provider: 'second', model: 'other' },
          ],
        },
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})
afterEach(async () => {
  await stack.settled()
  await stack.audit()
})
after(() => stack.stop())

const providerLog = () => stack.provider.log()

function leave(calls: readonly ClientRequest[]): { destroy(): void } {
  return {
    destroy: () => {
      for (const call of calls) call.destroy()
    },
  }
}

function send(endpoint: string, model: string, stream = true, key = apiKey): ClientRequest {
  const { path, prompt } = FORMATS[endpoint] ?? {}
  const body = { model, stream, max_tokens: 100, ...prompt }
  return postOpen(stack.baseUrl + path, key, body, () => undefined)
}

/** Sends requests at once, and leaves when the provider has them all and has answered none. @returns what it logged */
async function leaveBeforeHead(calls: () => readonly ClientRequest[]): Promise<Served[]> {
  const before = (await providerLog()).length
  await stack.provider.hold()
  const sent = calls()
  await until('the provider has all', async () => (await stack.provider.open()) === sent.length)
  await stack.provider.leaveHeld(leave(sent))
  await until('the provider has ended all', async () => (await stack.provider.open()) === 0)
  await until('all are in its log', async () => (await providerLog()).length >= before + sent.length)
  await stack.settled()
  return (await providerLog()).slice(before)
}

const receiptFor = (line: Served | undefined) => receiptOf(stack.baseUrl, apiKey, line?.request_id ?? '')

function assertPromptCharged(receipt: Receipt): void {
  const { status, error, usage, usage_source: source, cost } = receipt
  assert.deepEqual([status, error, source], ['partial', 'client_gone', 'estimated'])
  // 801 tokens by any tokenizer that has these words whole; the estimate and the frame of the format may add some.
  assert.ok(usage.prompt_tokens >= 800 && usage.prompt_tokens < 1_600, `${usage.prompt_tokens} tokens`)
  assert.equal(usage.completion_tokens, 0)
  assert.equal(cost.units, String(usage.prompt_tokens * 1_000))
}

for (const [model, endpoints] of [
  ['test/late', ENDPOINTS],
  ['test/translated', ['chat', 'messages', 'responses']],
] as const) {
  for (const endpoint of endpoints) {
    test(`a stream abandoned before its head is followed to it and charged its prompt: ${endpoint}, ${model}`, async () => {
      const [line, ...more] = await leaveBeforeHead(() => [send(endpoint, model)])
      assert.equal(more.length, 0)
      assert.equal(line?.outcome, 'client_gone')
      assert.ok(line.frames_sent < 80, `the provider went on for ${line.frames_sent} frames`)
      assertPromptCharged(await receiptFor(line))
    })
  }
}

test('an account that abandons every stream runs out of money', async () => {
  // Each stream holds 0.0021 USD and is charged some 0.0008, so the fifth finds too little.
  const account = await stack.createAccount({ credits: '0.005' })
  for (let round = 0; round < 4; round++) {
    const lines = await leaveBeforeHead(() => [send('chat', 'test/late', true, account.apiKey)])
    assert.equal(lines.length, 1)
  }
  const body = { model: 'test/late', stream: true, max_tokens: 100, messages: MESSAGES }
  assertError(await chat(stack.baseUrl, account.apiKey, body), 402, 'insufficient_balance')
})

test('after a disconnect, an error status is not charged and does not fail over', async () => {
  const lines = await leaveBeforeHead(() => [send('chat', 'test/failing')])
  assert.deepEqual(
    lines.map(({ status }) => status),
    [500],
  )
  const receipt = await receiptFor(lines[0])
  assert.deepEqual([receipt.status, receipt.cost.units], ['failed', '0'])
})

test('a buffered response that fails does not fail over either', async () => {
  const lines = await leaveBeforeHead(() => [send('chat', 'test/failing', false)])
  assert.deepEqual(
    lines.map(({ status }) => status),
    [500],
  )
  const receipt = await receiptFor(lines[0])
  assert.deepEqual([receipt.status, receipt.cost.units], ['failed', '0'])
})

test('after a disconnect, a missing response is not charged and does not fail over', async () => {
  const before = (await providerLog()).length
  const call = send('chat', 'test/silent')
  await until('the provider has it', async () => (await stack.provider.open()) === 1)
  call.destroy()
  await until('it is given up', async () => (await providerLog()).length > before)
  await stack.settled()
  const lines = (await providerLog()).slice(before)
  assert.equal(lines.length, 1)
  const receipt = await receiptFor(lines[0])
  assert.deepEqual([receipt.status, receipt.error, receipt.cost.units], ['failed', 'upstream_timeout', '0'])
})

test('beyond the limit of followed streams, the prompt counts as processed', async () => {
  const count = DETACHED_MAX + 3
  const lines = await leaveBeforeHead(() => Array.from({ length: count }, () => send('chat', 'test/late')))
  assert.equal(lines.length, count)
  for (const line of lines) assertPromptCharged(await receiptFor(line))
})

test('a client that disconnects during admission is neither served nor charged', async () => {
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/late', max_tokens: 1 }))
  await stack.settled()
  const before = (await providerLog()).length
  const pid = stack.redis.pid() ?? 0
  process.kill(pid, 'SIGSTOP')
  try {
    const call = send('chat', 'test/late')
    await until('the request waits', async () => (await activeRuns()) === 1)
    call.destroy()
    await (await fetch(`${stack.baseUrl}/health`)).arrayBuffer()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await until('the request has ended', async () => (await activeRuns()) === 0)
  await stack.settled()
  assert.equal((await providerLog()).length, before)
  const page = await fetch(`${stack.baseUrl}/v1/receipts?limit=1`, { headers: { authorization: `Bearer ${apiKey}` } })
  const { data } = (await page.json()) as { data: Receipt[] }
  assert.deepEqual([data[0]?.status, data[0]?.error, data[0]?.cost.units], ['failed', 'client_gone', '0'])
})

test('SIGTERM: a stream that is followed without its client is cut off, and not charged', async () => {
  const call = send('chat', 'test/silent')
  await until('the provider has it', async () => (await stack.provider.open()) === 1)
  call.destroy()
  await (await fetch(`${stack.baseUrl}/health`)).arrayBuffer()
  const before = (await providerLog()).length
  assert.equal(await stack.proxy.sigterm(), 0)
  await stack.settled()
  await stack.proxy.start()
  await stack.ready()
  const receipt = await receiptFor((await providerLog())[before])
  assert.deepEqual([receipt.status, receipt.error, receipt.cost.units], ['cut', 'gateway_restarting', '0'])
})

async function activeRuns(): Promise<number> {
  const text = await (await fetch(stack.metricsUrl)).text()
  return Number(/^sluice_active_runs (\d+)$/m.exec(text)?.[1])
}
