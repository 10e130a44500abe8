// Goal: transactions that move money between the same accounts at once never wait for each other in a circle.
// Method: settlements, purchases, transfers, credits of the operator and shares at once, in every order of the accounts, on a real
// PostgreSQL, which would roll one of a circle back.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { NO_CAPS } from '../../contract/money/windows.ts'
import { newId } from '../../contract/wire/ids.ts'
import { Debits } from '../../control/admission/debits/debit.ts'
import { creditAccount, openNewAccount } from '../../control/identity/accounts/accounts.ts'
import { referralCode } from '../../control/products/transfers/referrals/codes.ts'
import { attachReferrer } from '../../control/products/transfers/referrals/referrals.ts'
import { payShares } from '../../control/products/transfers/referrals/share.ts'
import { OPERATOR } from '../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../support/limits.ts'
import { assertCleanAudit, type Book, dispatchEvents, ensureOpen, startBook } from '../support/parts/ledger.ts'
import { burnt, LockMarket, MICRO_UNITS, OFFER_NANOS } from '../support/parts/lockMarket.ts'
import { itemOf } from '../support/present.ts'
import { rounds } from '../support/rounds.ts'

const ACCOUNTS = 4
const ROUNDS = rounds({ short: 15, long: 60 })
/** Refusals that are no fault: a round may meet what another one has taken. */
const REFUSED = new Set(['insufficient_balance', 'admission_unavailable', 'lock_self_trade'])

let book: Book
before(async () => {
  book = await startBook()
})
after(() => book.stop())

test('settlements, purchases, transfers, credits and shares never deadlock when they run together', async () => {
  const market = new LockMarket(book)
  const [one, two] = [await market.issue(), await market.issue()]
  const accounts: string[] = []
  for (let i = 0; i < ACCOUNTS; i++) {
    const accountId = await openNewAccount(book.pool, limits, { coinNanos: 10_000 * OFFER_NANOS })
    const [first] = accounts
    if (first !== undefined) {
      const code = await referralCode(book.pool, first)
      await withTransaction(book.pool, (client) => attachReferrer(client, OPERATOR, accountId, code, limits))
    }
    accounts.push(accountId)
  }
  await ensureOpen(book)
  await dispatchEvents(book)
  for (const accountId of accounts) {
    for (const series of [one, two]) await market.trade(series, { accountId, side: 'buy', micros: 1_000_000 })
  }
  const debits = new Debits(book.pool, book.redis, limits)
  let done = 0
  for (let round = 0; round < ROUNDS; round++) {
    const at = (place: number) => itemOf(accounts, (round + place) % ACCOUNTS)
    const keyOf = (accountId: string) => ({ keyId: accountId.replace('acct', 'key'), caps: NO_CAPS })
    const buy = (accountId: string, series: typeof one) =>
      market.trade(series, { accountId, side: 'buy', micros: 1_000, spender: keyOf(accountId) })
    const move = (accountId: string, to: string) =>
      market.inUndoable((transaction) => {
        const debit = { id: newId('pay'), accountId, nanos: 5, units: 5, kind: 'agent_pay', to: { accountId: to } }
        return debits.move(transaction, { ...debit, spender: keyOf(accountId) })
      })
    // Nobody spends the credits, and an account has so many grants at most.
    const creditUnits = round < ACCOUNTS * limits.grantsPerAccountMax ? 3 : 0
    const work: Array<Promise<unknown>> = [
      market.settle(burnt(one, at(0), MICRO_UNITS), burnt(two, at(1), MICRO_UNITS), { accountId: at(2), charge: 7 }),
      market.settle({ accountId: at(3), charge: -1 }, burnt(two, at(2), MICRO_UNITS), { accountId: at(0), charge: 3 }),
      buy(at(3), two),
      buy(at(2), one),
      move(at(1), at(0)),
      move(at(0), at(1)),
      withTransaction(book.pool, (client) => creditAccount(client, at(2), { coinNanos: 3, creditUnits }, limits)),
      payShares(book.pool, limits),
    ]
    for (const ended of await Promise.allSettled(work)) {
      if (ended.status === 'fulfilled') {
        done++
        continue
      }
      const { row, message } = ended.reason as { row?: string; message: string }
      assert.ok(REFUSED.has(row ?? ''), message)
    }
  }
  assert.ok(done > 6 * ROUNDS, `${done} were done`)
  await ensureOpen(book)
  await dispatchEvents(book)
  await assertCleanAudit(book)
})
