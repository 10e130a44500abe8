// Goal: control that is killed at any moment of an order leaves no order half done, and an order that is sent again under its
// Idempotency-Key is placed once. Method: customers buy and sell over HTTP while control is killed and started again.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { api, newOwner, type Owner } from '../support/clients/apiClient.ts'
import { issueLock, type OrderAnswer } from '../support/clients/lockClient.ts'
import { itemOf } from '../support/present.ts'
import { rounds } from '../support/rounds.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const KILLS = rounds({ short: 2, long: 25 })
const ORDERS_PER_KILL = 24
const ANSWERED_WITHIN_MS = 60_000

let stack: Stack
let owners: Owner[]
let series: string

before(async () => {
  const limits = {
    apiRequestBurst: 10_000,
    apiRequestsPerMinute: 600_000,
    lockOrdersOpenMax: 1_000,
    lockOrderUnitsMin: 1,
    debitVoidMs: 500,
  }
  stack = await startStack({ limits })
  owners = [await newOwner(stack, { coin: '100' }), await newOwner(stack, { coin: '100' })]
  series = await issueLock(stack, ['--supply', '500', '--taker-fee', '0.5'])
})
after(() => stack.finish())

/** Sends an order until control answers it, always under the same key. */
async function place(i: number): Promise<OrderAnswer | undefined> {
  const [side, type] = [i % 3 === 0 ? 'sell' : 'buy', i % 4 === 0 ? 'market' : 'limit']
  const price = type === 'limit' && { price: side === 'sell' ? '0.08' : `0.${i % 2 === 0 ? '1' : '07'}` }
  const body = { series, side, type, tokens: `0.${1 + (i % 9)}`, ...price }
  const { token } = itemOf(owners, i % owners.length)
  const deadline = performance.now() + ANSWERED_WITHIN_MS
  for (;;) {
    const headers = { 'idempotency-key': `order-${i}` }
    const answer = await api<OrderAnswer>(stack.baseUrl, 'POST', '/v1/locks/orders', { token, body, headers })
    if (answer.status === 201) return answer.body
    // Nothing to sell, nobody who sells, or an order of one's own in the way.
    if ([402, 409].includes(answer.status)) return undefined
    assert.ok([500, 502, 503, 504].includes(answer.status), answer.text)
    assert.ok(performance.now() < deadline, `no answer: ${answer.text}`)
    await sleep(50)
  }
}

test('orders are placed once and atomically, whenever control is killed', async () => {
  const placed: OrderAnswer[] = []
  let next = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const asked = Array.from({ length: ORDERS_PER_KILL }, async () => {
      const made = await place(next++)
      if (made !== undefined) placed.push(made)
    })
    // Somewhere among them, another time in each round.
    await sleep(20 + ((kill * 37) % 160))
    await stack.control.kill9()
    await stack.control.start()
    await Promise.all(asked)
  }
  assert.ok(placed.length > ORDERS_PER_KILL / 4, `${placed.length} orders were placed`)
  const database = new pg.Client(stack.databaseUrl)
  await database.connect()
  const booked = await database.query(`SELECT id FROM lock_orders WHERE account_id <> 'operator' ORDER BY id`)
  await database.end()
  assert.deepEqual(
    booked.rows.map((row) => row.id),
    placed.map(({ id }) => id).sort(),
  )
  await until('what was taken for dead orders is given back', async () => (await stack.cli('audit')).code === 0)
})
