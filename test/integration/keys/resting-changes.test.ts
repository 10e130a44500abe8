// Goal: a key whose leases rest is changed like any other: within a second no process serves it by its old record, and until then it
// spends at most what rests. Method: a whole stack with two proxy processes, whose leases rest after a moment; each kind of change,
// a burst of requests, the receipts and the leases, then the audit.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { awayFromTheHour } from '../../support/awayFromTheHour.ts'
import type { Key } from '../../support/clients/accountKeys.ts'
import { apiOk, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { completion, postRaw } from '../../support/clients/chatClient.ts'
import { everywhere } from '../../support/clients/everywhere.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { Stopwatch } from '../../support/stopwatch.ts'

const WITHIN_MS = 1_000
const WORKERS = 2
const BURST = 64
/** No lease rests that does not last as long; leases end with their hour. */
const REST_MS = 20_000

let stack: Stack
let url: string
let owner: Owner
const watch = new Stopwatch()

before(async () => {
  const catalog = { models: [{ id: 'test/small' }, { id: 'test/other' }] }
  stack = await startStack({
    workers: WORKERS,
    catalog,
    limits: { leaseIdleMs: 50, leaseRestMs: REST_MS, keysPerAccountMax: 20 },
  })
  url = stack.baseUrl
  owner = await newOwner(stack, { credits: '0', coin: '1000' })
})
after(() => stack.finish())

interface Lease {
  readonly key_id: string
  readonly owner: string
  readonly units: string
}

async function leasesOf(keyId: string): Promise<Lease[]> {
  const listed = (await stack.cli('leases', 'list')).json as { data: Lease[] }
  return listed.data.filter((lease) => lease.key_id === keyId)
}

const unitsOf = (leases: readonly Lease[]): number => leases.reduce((sum, { units }) => sum + Number(units), 0)

/** Units that a key has been charged, by its receipts. */
async function spentBy(keyId: string): Promise<number> {
  await stack.settled()
  const { data } = (await stack.cli('account', 'usage', owner.accountId, '--by', 'key')).json as {
    data: { key_id: string; cost: { units: string } }[]
  }
  return Number(data.find((group) => group.key_id === keyId)?.cost.units ?? 0)
}

const ask = (key: Key, requests: number) =>
  Promise.all(Array.from({ length: requests }, () => postRaw(url, key.api_key, BODY, { connection: 'close' })))

/** Uses a key. @returns the units that it was charged */
async function served(key: Key): Promise<number> {
  return (await ask(key, 2)).reduce((sum, reply) => sum + Number(completion(reply).receipt.cost.units), 0)
}

const patch = (key: Key, body: Json) =>
  apiOk<Key>(url, 'PATCH', `/v1/account/keys/${key.id}`, { token: owner.token, body })

const CHANGES: readonly [name: string, change: (key: Key) => Promise<unknown>, status: number, code: string][] = [
  ['paused', (key) => patch(key, { paused: true }), 403, 'key_paused'],
  [
    'revoked',
    (key) => apiOk(url, 'DELETE', `/v1/account/keys/${key.id}`, { token: owner.token }),
    401,
    'invalid_api_key',
  ],
  ['capped', (key) => patch(key, { caps: { day: '0.000000001' } }), 402, 'spend_limit_exceeded'],
  ['given no budget', (key) => patch(key, { budget: '0' }), 402, 'key_budget_exceeded'],
  ['restricted to another model', (key) => patch(key, { models: ['test/other'] }), 403, 'model_not_allowed'],
]

const BODY = JSON.stringify({ model: 'test/small', max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] })

for (const [name, change, status, code] of CHANGES) {
  test(`a key at rest that is ${name} spends at most what rests, and nothing after a second`, async () => {
    const key = await apiOk<Key>(url, 'POST', '/v1/account/keys', { token: owner.token, body: {} })
    let before = 0
    let resting = 0
    // A few requests at a time let a lease rest. Unused leases that do not are gone by the second reading of the list.
    await until('a lease of each process rests', async () => {
      await awayFromTheHour()
      before += await served(key)
      const [first, second] = [await leasesOf(key.id), await leasesOf(key.id)]
      resting = unitsOf(second)
      return first.length === WORKERS && JSON.stringify(first) === JSON.stringify(second)
    })
    assert.ok(resting > 0)
    await change(key)
    const replies = await ask(key, BURST)
    await everywhere(url, watch, key.api_key, status, code)
    const spent = (await spentBy(key.id)) - before
    assert.ok(spent <= resting, `${spent} of ${resting} units`)
    assert.ok(replies.every((reply) => reply.status === 200 || reply.text.includes(code)))
    await until('what rested is given back', async () => (await leasesOf(key.id)).length === 0)
    assert.equal((await spentBy(key.id)) - before, spent)
  })
}

test('the changes were everywhere within a second', async () => {
  watch.assertWithin(WITHIN_MS)
  await stack.audit()
})
