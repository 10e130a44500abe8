import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { chat, completion, type Receipt } from '../support/clients/chatClient.ts'
import { itemOf } from '../support/present.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

/** The kernel chooses a worker for each by a hash: that one of two gets none of them happens once in 2 ** 31 runs. */
const STREAMS = 32

let stack: Stack

before(async () => {
  stack = await startStack({
    workers: 2,
    limits: { heartbeatIntervalMs: 200, heartbeatTimeoutMs: 4_000, orphanCheckMs: 200 },
    catalog: { models: [{ id: 'test/small' }, { id: 'test/slow', upstream: 'mock,chunks=100,delay=50' }] },
  })
})

after(() => stack.finish())

interface Followed {
  text: string
  broken: boolean
}

/** A stream to its end; what it has brought so far is in `followed` all the time. */
async function follow(apiKey: string, followed: Followed): Promise<void> {
  try {
    const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'test/slow', stream: true, messages: [{ role: 'user', content: 'hello' }] }),
    })
    const decoder = new TextDecoder()
    for await (const piece of response.body ?? []) {
      followed.text += decoder.decode(piece as Uint8Array, { stream: true })
    }
  } catch {
    followed.broken = true
  }
}

const idIn = (text: string): string => /"id":"(req_[^"]+)"/.exec(text)?.[1] ?? ''

async function receiptOf(apiKey: string, text: string): Promise<Receipt> {
  const id = idIn(text)
  const response = await fetch(`${stack.baseUrl}/v1/receipts/${id}`, { headers: { authorization: `Bearer ${apiKey}` } })
  assert.equal(response.status, 200)
  return (await response.json()) as Receipt
}

test('a killed worker is replaced, the other continues to serve, and its holds are voided', async () => {
  const { apiKey } = await stack.createAccount()
  const before = stack.workerPids
  assert.equal(before.length, 2)
  const ends = Array.from({ length: STREAMS }, (): Followed => ({ text: '', broken: false }))
  const streams = Promise.all(ends.map((end) => follow(apiKey, end)))
  await until('every stream has begun', () => ends.every(({ text }) => idIn(text) !== ''))
  process.kill(itemOf(before, 0), 'SIGKILL')

  await streams
  const broken = ends.filter((end) => end.broken)
  const whole = ends.filter((end) => !end.broken)
  assert.ok(broken.length > 0 && whole.length > 0, `${broken.length} of ${STREAMS} streams broke`)
  for (const { text } of whole) assert.ok(text.endsWith('data: [DONE]\n\n'))
  await until('the worker is replaced', () => stack.workerPids.length === 2)
  assert.ok(!stack.workerPids.includes(itemOf(before, 0)))
  assert.ok(stack.workerPids.includes(itemOf(before, 1)))
  for (let i = 0; i < 8; i++) completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' }))

  await stack.settled()
  for (const { text } of broken) {
    const receipt = await receiptOf(apiKey, text)
    assert.deepEqual([receipt.status, receipt.cost.units], ['orphaned', '0'])
  }
  for (const { text } of whole) assert.equal((await receiptOf(apiKey, text)).status, 'ok')
  await until('the metrics tell of it', async () => {
    const metrics = await (await fetch(stack.metricsUrl)).text()
    return /^sluice_worker_restarts_total 1$/m.test(metrics) && /^sluice_workers 2$/m.test(metrics)
  })
})
