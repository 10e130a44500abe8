// Goal: an admission state that is lost altogether is rebuilt from the book, and requests that were under way are charged
// once. Method: Redis is emptied, or taken back to an older state, while clients keep asking.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { itemOf } from '../support/present.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { describe, startWorkload } from '../support/workload.ts'

let stack: Stack
let account: TestAccount

before(async () => {
  stack = await startStack({
    catalog: { models: [{ id: 'test/paced', upstream: 'mock,chunks=20,delay=20' }] },
    limits: { heartbeatIntervalMs: 200, heartbeatTimeoutMs: 4_000, orphanCheckMs: 200 },
  })
  account = await stack.createAccount({ credits: '5', coin: '5', args: ['--cap-day', '9'] })
})
after(() => stack.finish())

test('Redis is emptied while streams run', async () => {
  const workload = startWorkload(stack, account, ['test/paced'], 12)
  for (let round = 0; round < 2; round++) {
    const seen = workload.answered()
    await until('answers come', () => workload.answered() >= seen + 30)
    await stack.withRedis((redis) => redis.flushall())
    await until('admission is open again', () =>
      stack.withRedis(async (redis) => (await redis.keys('epoch:*')).length === 64),
    )
  }
  const seen = workload.answered()
  await until('answers come again', () => workload.answered() >= seen + 30)
  const result = await workload.stop()
  await stack.settled()
  await stack.audit()
  process.stdout.write(`# ${describe(result)}\n`)
  const receipts = await allReceipts()
  // Receipts that were only in the emptied streams are gone; every other answer is in the book at its own charge.
  const kept = result.answered.filter((receipt) => receipts.has(receipt.request_id))
  assert.ok(kept.length >= 60)
  for (const receipt of kept) assert.equal(receipts.get(receipt.request_id), receipt.cost.units)
})

async function allReceipts(): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  let after = ''
  for (;;) {
    const response = await fetch(`${stack.baseUrl}/v1/receipts?limit=100${after === '' ? '' : `&after=${after}`}`, {
      headers: { authorization: `Bearer ${account.apiKey}` },
    })
    const page = (await response.json()) as {
      data: { request_id: string; cost: { units: string } }[]
      has_more: boolean
    }
    for (const receipt of page.data) found.set(receipt.request_id, receipt.cost.units)
    if (!page.has_more) return found
    after = itemOf(page.data, page.data.length - 1).request_id
  }
}
