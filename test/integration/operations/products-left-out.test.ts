import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PRODUCTS } from '../../../control/service/products.ts'
import { api, assertRefused, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { chat, completion } from '../../support/clients/chatClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { TestProcess } from '../../support/testProcess.ts'
import { until } from '../../support/until.ts'
import { WITHOUT_VARIABLE } from '../../support/warm/withoutVariable.ts'

/** A read of each product. */
const READS: Readonly<Record<string, string>> = {
  agents: '/v1/agents',
  reserve: '/v1/reserve/history',
  payments: '/v1/account/funding',
  settlements: '/v1/settlements',
  holders: '/v1/holders/rewards/me',
  locks: '/v1/locks/mine',
  marketplace: '/v1/providers',
  transfers: '/v1/links',
}

let paid: PaidStack
let account: Owner
/** The statuses of the reads while all products run. */
let usual: Record<string, number>

before(async () => {
  // A control that stands still for a moment is waited for, where the answer of the one before would be given for it.
  paid = await startPaidStack({ limits: { keptAnswersMs: 3_600_000, keptAnswerWaitMs: 30_000 } })
  account = await newOwner(paid.stack)
  usual = await statuses()
})

after(async () => {
  await paid?.stop()
})

/** The status of each read. A control that has just started answers 503 where it needs the chain, until the chain has answered. */
async function statuses(): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const [name, path] of Object.entries(READS)) {
    await until(`${path} is answered`, async () => {
      const { status } = await read(path)
      found[name] = status
      return status !== 503
    })
  }
  return found
}

function read(path: string) {
  return api(paid.stack.baseUrl, 'GET', path, { token: account.token })
}

test('each product has a read here', () => {
  assert.deepEqual(Object.keys(READS).toSorted(), PRODUCTS.map(({ name }) => name).toSorted())
})

for (const { name } of PRODUCTS) {
  test(`without ${name}, requests are served and booked, and the other products answer as before`, async () => {
    const { stack } = paid
    await stack.control.stop()
    const env = { ...stack.env, [WITHOUT_VARIABLE]: name }
    const control = new TestProcess(`without-${name}`, 'test/support/controlWithout.js', [], stack.dir, env)
    try {
      await control.start()
      await stack.ready()
      // Proxies answer public reads from their cache for some seconds.
      await until('the product is not there', async () => (await read(READS[name] ?? '')).status === 404)
      assertRefused(await read(READS[name] ?? ''), 404, 'not_found')
      assert.deepEqual(await statuses(), { ...usual, [name]: 404 })
      const { receipt: own } = completion(await chat(stack.baseUrl, account.apiKey, { model: 'test/small' }))
      await stack.settled()
      const receipt = await api(stack.baseUrl, 'GET', `/v1/receipts/${own.request_id}`, { token: account.apiKey })
      assert.equal(receipt.body['status'], 'ok', receipt.text)
    } finally {
      await control.stop()
    }
    await stack.control.start()
    await stack.ready()
    await until('the read is answered again', async () => (await read(READS[name] ?? '')).status === usual[name])
    await stack.audit()
  })
}
