// Goal: what a paid request leaves below the smallest refund is the payer's, once, whatever order requests of a wallet end
// in and whatever breaks in between. Method: control's side of payments on a real chain, with transactions that break off.

import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import fc from 'fast-check'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { closeEnded } from '../../../control/products/payments/x402/closePayments.ts'
import type { PaymentOrder } from '../../../control/products/payments/x402/paymentOrder.ts'
import { type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { FUNDS, type Payer } from '../../support/chain.ts'
import { paymentLimits as limits } from '../../support/limits.ts'
import { breaking, watched } from '../../support/parts/faultyPool.ts'
import { until } from '../../support/parts/ledger.ts'
import { type PaymentBench, startPaymentBench } from '../../support/parts/payments.ts'
import { rounds, sampled } from '../../support/rounds.ts'

const USD = 1_000_000_000
/** After this many a pool breaks no more transactions off. */
const BREAKS_MAX = 25
const MIN_UNITS = 10_000_000
const PAID = 4_200n
let bench: PaymentBench

before(async () => {
  bench = await startPaymentBench({ refundMinUnits: MIN_UNITS })
  await bench.chain.fillTreasury()
})
afterEach(() => bench.mended())
after(() => bench.stop())

interface ClosedRow {
  readonly units: number
  readonly charge: number
  readonly back: number
  readonly used: number
  readonly kept: number
  readonly left_: number
  readonly voided: boolean
  readonly refunded: boolean
}

async function closedOf(payer: Payer, asset: string): Promise<ClosedRow[]> {
  const found = await bench.book.pool.query<ClosedRow>(
    `SELECT p.units, r.charge_units AS charge, p.back_units AS back, p.credit_used_units AS used,
       p.credit_kept_units AS kept, p.credit_left_units AS left_, r.voided, p.refund_id IS NOT NULL AS refunded
     FROM payments p JOIN receipts r ON r.request_id = p.id WHERE p.payer = $1 AND p.asset = $2 AND p.state = 'closed'
     ORDER BY p.id`,
    [payer.address.toLowerCase(), asset],
  )
  return found.rows
}

const creditOf = (payer: Payer, asset = 'stablecoin') =>
  bench.scalar<number>(
    'SELECT coalesce((SELECT balance FROM ledger_accounts WHERE id = $1), 0)::bigint',
    `payer_credit:${payer.address.toLowerCase()}:${asset}`,
  )

/** Pays for a request of a wallet and serves it. @param charge units, or -1 when nothing was served */
async function buy(payer: Payer, charge: number): Promise<void> {
  const order = await bench.order(payer, 'stablecoin', PAID)
  await bench.settle(order)
  await bench.serve(order, charge)
  await bench.settled()
}

test('a remainder is kept, pays for the next charge, and is refunded once with later remainders', async () => {
  const payer = await bench.chain.newPayer()
  const house = () => bench.scalar<number>(`SELECT balance FROM ledger_accounts WHERE id = 'house'`)
  const houseBefore = await house()
  await buy(payer, 1_234_567)
  assert.equal(await creditOf(payer), 2_965_433)
  await buy(payer, 1_000_000)
  assert.equal(await creditOf(payer), 6_165_433)
  await buy(payer, -1)
  assert.equal(await creditOf(payer), 6_165_433)
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS - 2n * PAID)
  await buy(payer, 100_001)
  assert.equal(await creditOf(payer), 432)
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS - 3n * PAID + 10_265n)
  assert.deepEqual(
    (await closedOf(payer, 'stablecoin')).map(({ used, kept, left_, back }) => [used, kept, left_, back]),
    [
      [0, 2_965_433, 2_965_433, 0],
      [1_000_000, 4_200_000, 6_165_433, 0],
      [0, 0, 6_165_433, 4_200_000],
      [6_165_433, 432, 432, 10_265_000],
    ],
  )
  assert.equal(await house(), houseBefore)
})

test('two control instances close requests of one wallet concurrently: its credit is used once', async () => {
  const payer = await bench.chain.newPayer()
  await buy(payer, 1_234_567)
  const orders = [await bench.order(payer, 'stablecoin', PAID), await bench.order(payer, 'stablecoin', PAID)] as const
  for (const order of orders) await bench.settle(order)
  await bench.payments.stop(1_000)
  const { pool } = bench.book
  const close = (own: Pool) =>
    closeEnded({ pool: own, assets: [], coinUsdUnits: async () => USD, refundMinUnits: MIN_UNITS, limits })
  const [reached, resumed] = [latch(), latch()]
  await end(orders[0], 1_000_000)
  const first = close(
    watched(pool, () => async (text) => {
      if (!text.startsWith('UPDATE payments')) return
      reached.open()
      await resumed.opened
    }),
  )
  await reached.opened
  await end(orders[1], 1_000_000)
  let isDone = false
  const second = close(pool).finally(() => {
    isDone = true
  })
  const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  await until('the other one waits or is done', async () => isDone || (await bench.scalar<number>(waiting)) > 0)
  resumed.open()
  assert.deepEqual(await Promise.all([first, second]), [1, 1])
  assert.deepEqual(
    (await closedOf(payer, 'stablecoin')).map(({ used, kept, left_ }) => [used, kept, left_]),
    [
      [0, 2_965_433, 2_965_433],
      [1_000_000, 4_200_000, 6_165_433],
      [1_000_000, 4_200_000, 9_365_433],
    ],
  )
  await bench.restart()
})

/** Ends a request and waits until its receipt is in the book. */
async function end(order: PaymentOrder, charge: number): Promise<void> {
  await bench.serve(order, charge)
  const booked = 'SELECT count(*) FROM receipts WHERE request_id = $1'
  await until('the receipt is booked', async () => (await bench.scalar<number>(booked, order.requestId)) === 1)
}

function latch(): { open: () => void; opened: Promise<void> } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

const KEPT = '(SELECT id FROM payments WHERE credit_kept_units > 0 ORDER BY id LIMIT 1)'
const ACCOUNT = `(SELECT id FROM ledger_accounts WHERE kind = 'payer_credit' AND balance > 0 ORDER BY id LIMIT 1)`
const CREDITS = 'payer credits are what payments kept and used'
const ASSETS = 'payments of an asset are charged, refunded, kept or open'
const BALANCES = 'balances equal their postings'

const TAMPERINGS: { name: string; change: (by: number) => string; found: string[] }[] = [
  {
    name: 'a credit changed by hand',
    change: (by) => `UPDATE ledger_accounts SET balance = balance + ${by} WHERE id = ${ACCOUNT}`,
    found: [BALANCES, CREDITS, ASSETS],
  },
  {
    name: 'a payment that says that it kept more',
    change: (by) =>
      `UPDATE payments SET credit_kept_units = credit_kept_units + ${by}, credit_left_units = credit_left_units + ${by}
       WHERE id = ${KEPT}`,
    found: ['every payment is charged, goes back or is kept', CREDITS],
  },
  {
    name: 'a remainder that stays on the account of its payer',
    change: (by) => `UPDATE ledger_accounts SET balance = balance + ${by} WHERE id = (SELECT 'coin:' || account_id
      FROM payments WHERE id = ${KEPT})`,
    found: [
      BALANCES,
      'accounts of payers hold what is open and what is to go back',
      'admission balances equal the book',
    ],
  },
]

for (const { name, change, found } of sampled(TAMPERINGS, 6)) {
  test(`the audit finds ${name}`, async () => {
    const tamper = (by: number) =>
      withTransaction(bench.book.pool, async (client) => {
        await client.query('SET LOCAL session_replication_role = replica')
        assert.equal((await client.query(change(by))).rowCount, 1)
      })
    await tamper(5)
    const checks = await runAudit(bench.book.pool, bench.book.redis, limits)
    await tamper(-5)
    assert.deepEqual(
      checks.filter((check) => !check.ok).map((check) => check.name),
      found,
    )
  })
}

/** What has to hold of all requests of a wallet in an asset, in whatever order they were closed. */
async function assertConserved(payer: Payer, asset: 'stablecoin' | 'coin'): Promise<void> {
  const rows = await closedOf(payer, asset)
  const credit = await creditOf(payer, asset)
  for (const { units, charge, back, used, kept, left_, voided, refunded } of rows) {
    assert.equal(units + used, charge + back + kept)
    assert.equal(refunded, back > 0)
    if (voided) assert.deepEqual({ back, used, kept }, { back: units, used: 0, kept: 0 })
    else assert.equal(back > 0, left_ + back >= MIN_UNITS)
  }
  // Each credit that a request left was found by exactly one other, but for the last.
  const found = rows.map(({ used, kept, left_ }) => left_ - kept + used)
  const left = rows.map(({ left_ }) => left_)
  assert.deepEqual(sorted([...found, credit]), sorted([...left, 0]))
  const { amount, back } = (
    await bench.book.pool.query<{ amount: string; back: string }>(
      `SELECT coalesce(sum(amount), 0)::text AS amount, coalesce(sum(back_amount), 0)::text AS back FROM payments
       WHERE payer = $1 AND asset = $2 AND state = 'closed'`,
      [payer.address.toLowerCase(), asset],
    )
  ).rows[0] ?? { amount: '0', back: '0' }
  const start = asset === 'stablecoin' ? FUNDS : COINS
  assert.equal(await bench.chain.balanceOf(asset, payer.address), start - BigInt(amount) + BigInt(back))
}

const sorted = (units: number[]) => units.sort((a, b) => a - b)
const COINS = 1_000n * 10n ** 18n

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('pay' as const),
      wallet: fc.nat(1),
      asset: fc.constantFrom('stablecoin' as const, 'coin' as const),
      milliUsd: fc.integer({ min: 1, max: 12 }),
      odd: fc.nat(999),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(9), permille: fc.nat(1_100) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end all' as const), permille: fc.nat(1_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('price' as const), usdUnits: fc.integer({ min: USD / 10, max: 3 * USD }) }),
  },
)

test('random payments, charges, price changes and crashes: no money of a wallet is lost or used twice', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 25, maxLength: 40 }),
      fc.integer({ min: 5, max: 14 }),
      async (steps, every) => {
        const wallets = [await bench.chain.newPayer(), await bench.chain.newPayer()] as const
        const open: PaymentOrder[] = []
        let coinUsdUnits = USD / 2
        let [statements, broken] = [0, 0]
        const breaks = () => {
          statements++
          const isBroken = statements % every === 0 && broken < BREAKS_MAX
          if (isBroken) broken++
          return isBroken
        }
        const start = () =>
          bench.startPayments({}, { pool: breaking(bench.book.pool, breaks), coinUsdUnits: async () => coinUsdUnits })
        const restart = async () => {
          await bench.payments.stop(0)
          bench.payments = start()
          await bench.ready()
        }
        const serve = (order: PaymentOrder, permille: number) =>
          bench.serve(order, permille > 1_000 ? -1 : Math.floor((order.holdUnits * permille) / 1_000))
        await restart()
        for (const what of steps) {
          if (what.do === 'pay') {
            // A milli-USD is 1,000 atomic units of the stablecoin, and 2e15 of the coin at half a dollar.
            const amount =
              what.asset === 'coin'
                ? 2n * 10n ** 15n * BigInt(what.milliUsd) + BigInt(what.odd) * 10n ** 6n
                : 1_000n * BigInt(what.milliUsd)
            const order = await bench.order(wallets[what.wallet === 0 ? 0 : 1], what.asset, amount + BigInt(what.odd))
            await bench.settle(order)
            open.push(order)
          } else if (what.do === 'end') {
            const [order] = open.splice(what.which % Math.max(1, open.length), 1)
            if (order !== undefined) await serve(order, what.permille)
          } else if (what.do === 'end all') {
            await Promise.all(open.splice(0).map((order) => serve(order, what.permille)))
          } else if (what.do === 'crash') await restart()
          else coinUsdUnits = what.usdUnits
        }
        await Promise.all(open.map((order) => serve(order, 500)))
        await bench.settled()
        await bench.audit()
        assert.ok(broken > 0)
        for (const wallet of wallets) {
          await assertConserved(wallet, 'stablecoin')
          await assertConserved(wallet, 'coin')
        }
      },
    ),
    { numRuns: rounds({ short: 1, long: 10 }), endOnFailure: true },
  )
})
