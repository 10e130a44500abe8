// Goal: no share of the revenue leaves the treasury while the reserve is short.
// Method: a real book, and a chain that fails every call, so that an attempt to send shows.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PayoutSenderOptions } from '../../../control/products/holders/rewards/payoutSender.ts'
import { PayoutSender } from '../../../control/products/holders/rewards/payoutSender.ts'
import { ledgerLimits } from '../../support/limits.ts'
import { type Book, log, startBook } from '../../support/parts/ledger.ts'

const VAULT = `0x${'1'.repeat(40)}`

let book: Book
before(async () => {
  book = await startBook()
  await book.pool.query(
    `INSERT INTO revenue_periods (number, starts_at, ends_at, total_units, net_units, deficit_units, reward_units, reward_rest,
       vault_units, vault_rest, vault_bps, coin_usd_units, reward_nanos, vault_nanos, pool_nanos, earned_nanos, paid_nanos,
       credited_nanos, carried_nanos, holders, min_nanos, excluded)
     VALUES (1, now(), now() + interval '1 s', 10, 10, 0, 0, 0, 5, 0, 5000, 1000000000, 0, 5, 0, 0, 0, 0, 0, 0, 1, '{}')`,
  )
  await book.pool.query(
    `INSERT INTO revenue_payouts (purpose, number, token, receiver, amount, nanos, units) VALUES ('vault', 1, $1, $1, 5, 5, 5)`,
    [VAULT],
  )
})
after(() => book.stop())

/** Has the last reading of the reserve be one after so many short ones. */
const read = (shortReadings: number) =>
  book.pool.query(
    `INSERT INTO reserve_days (day, first_reading, first_at, last_reading, last_at, short_readings)
     VALUES (current_date, '{}', now(), '{}', now(), $1)
     ON CONFLICT (day) DO UPDATE SET last_at = now(), short_readings = excluded.short_readings`,
    [shortReadings],
  )

function sender(): PayoutSender {
  const failing = new Proxy({}, { get: () => () => Promise.reject(new Error('asked the chain')) })
  const limits = { ...ledgerLimits, revenueRefusedMs: 0 }
  const parts = { pool: book.pool, chain: failing, fees: failing, treasury: failing, watcher: failing, log, limits }
  return new PayoutSender({ ...parts, chainId: 1, publisher: failing } as unknown as PayoutSenderOptions)
}

test('shares of the revenue wait while the reserve is short, and are sent once it covers what is owed', async () => {
  await read(2)
  await sender().sendDue()
  await read(0)
  await assert.rejects(sender().sendDue(), /asked the chain|chain_unavailable|chain/)
})
