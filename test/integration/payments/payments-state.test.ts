// Goal: quotes, /health, /v1/status and the pulse agree whether payments can be made, for every reason why they cannot.
// Method: the whole stack over a real chain; each cause is turned on and off.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { until } from '../../support/stack.ts'

const TOO_DEAR = `0x${(10n ** 13n).toString(16)}`
let paid: PaidStack

before(async () => {
  paid = await startPaidStack({ limits: { chainCheckMs: 100, pulseIntervalMs: 100, gasPriceKeptMs: 50 } })
})
after(() => paid.stop())

async function read<T>(path: string): Promise<T> {
  return (await (await fetch(paid.stack.baseUrl + path)).json()) as T
}

/** What the three reads say, by their own words; the pulse is what the first two read. */
async function said(): Promise<string> {
  const quote = await fetch(paid.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/small', messages: [{ role: 'user', content: 'hello' }] }),
  })
  const { payments, status } = await read<{ payments: string; status: string }>('/health')
  const { components } = await read<{ components: { name: string; status: string }[] }>('/v1/status')
  return [quote.status, payments, status, components.find(({ name }) => name === 'payments')?.status].join(' ')
}

async function becomes(wanted: string): Promise<void> {
  let last = ''
  await until(`they say ${wanted}`, async () => {
    last = await said()
    return last === wanted
  }).catch(() => assert.equal(last, wanted))
}

const OPEN = '402 open ok operational'
const CLOSED = '503 unavailable degraded partial_outage'

const CAUSES: readonly [cause: string, on: () => void][] = [
  [
    'the node does not answer',
    () => {
      paid.rpc.down = true
    },
  ],
  [
    'the node is of another chain',
    () => {
      paid.rpc.altered = ({ id, method }, answer) => (method === 'eth_chainId' ? { id, result: '0x1' } : answer)
    },
  ],
  [
    'gas is too dear',
    () => {
      paid.rpc.altered = ({ id, method }, answer) =>
        method === 'eth_maxPriorityFeePerGas' ? { id, result: TOO_DEAR } : answer
    },
  ],
  [
    'no relayer has gas',
    () => {
      paid.rpc.altered = ({ id, method }, answer) => (method === 'eth_getBalance' ? { id, result: '0x0' } : answer)
    },
  ],
]

for (const [cause, on] of CAUSES) {
  test(`all agree while ${cause}, and afterwards`, async () => {
    await becomes(OPEN)
    on()
    await becomes(CLOSED)
    paid.rpc.mend()
    await becomes(OPEN)
  })
}

test('all agree while control is away, and while the book is bound to another chain', async () => {
  const { control } = paid.stack
  const genesis = 'SELECT genesis_hash FROM chain_identity'
  const hash = (await paid.pool.query<{ genesis_hash: string }>(genesis)).rows[0]?.genesis_hash
  await control.stop()
  await becomes(CLOSED)
  await paid.pool.query(`UPDATE chain_identity SET genesis_hash = '0x00'`)
  await control.start()
  await until('control answers', async () => (await read<{ database: string }>('/health')).database === 'ok')
  await becomes(CLOSED)
  assert.equal((await read<{ withdrawals: string }>('/health')).withdrawals, 'paused')
  await paid.pool.query('UPDATE chain_identity SET genesis_hash = $1', [hash])
  await becomes(OPEN)
  await paid.audited()
})
