import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import type { Receipt } from '../../support/clients/chatClient.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: { detachedRequestsMax: 2 },
    catalog: { models: [{ id: 'test/late', upstream: 'mock,ttft=500' }] },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(() => stack.finish())

/** Sends so many requests for an answer in one piece and leaves once the provider works on them. */
async function abandon(count: number): Promise<void> {
  await stack.provider.hold()
  const calls = Array.from({ length: count }, () => {
    const call = request(`${stack.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    })
    call.on('error', () => undefined)
    call.end(JSON.stringify({ model: 'test/late', max_tokens: 8, messages: [{ role: 'user', content: 'hello' }] }))
    return call
  })
  await until('the provider has them', async () => (await stack.provider.open()) === count)
  await stack.provider.leaveHeld({ destroy: () => calls.map((call) => call.destroy()) })
  await until('the provider is done', async () => (await stack.provider.open()) === 0)
  await stack.settled()
}

async function receipts(): Promise<Receipt[]> {
  const response = await fetch(`${stack.baseUrl}/v1/receipts`, { headers: { authorization: `Bearer ${apiKey}` } })
  return ((await response.json()) as { data: Receipt[] }).data
}

test('responses of disconnected clients are read to their end, up to a limit at a time', async () => {
  // More than the bound in all, never more than it at once.
  for (let i = 0; i < 3; i++) await abandon(2)
  const log = await stack.provider.log()
  const read = await receipts()
  assert.equal(read.length, 6)
  for (const receipt of read) {
    assert.deepEqual([receipt.status, receipt.error, receipt.usage_source], ['ok', 'client_gone', 'reported'])
    assertReconciled(receipt, log)
  }
})

test('beyond the limit they are abandoned, and their cost is estimated', async () => {
  const before = (await receipts()).length
  await abandon(4)
  const read = (await receipts()).slice(0, -before)
  const statuses = read.map(({ status }) => status).sort()
  assert.deepEqual(statuses, ['ok', 'ok', 'partial', 'partial'])
  for (const receipt of read.filter(({ status }) => status === 'partial')) {
    assert.deepEqual([receipt.error, receipt.usage_source], ['client_gone', 'estimated'])
  }
})
