// Goal: whatever coin does at once (payments, links, holds, charges, referrals, credits and their expiry, processes that die
// in the middle), no unit is lost, made or spendable twice, and Redis equals the book in the end. Method: random batches of steps,
// each batch at once, over the parts of control without HTTP; then the audit.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { NO_CAPS } from '../../../contract/money/windows.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { accountKey, debitsKey, ledgerStream, SHARD_COUNT, shardOf } from '../../../contract/wire/redisKeys.ts'
import { HoldCode, SettleCode } from '../../../contract/wire/scripts.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { debitKeeper } from '../../../control/admission/debits/debitKeeper.ts'
import { EventDispatcher } from '../../../control/admission/dispatcher.ts'
import { GrantSweeper } from '../../../control/admission/grantSweeper.ts'
import { AdmissionKeeper } from '../../../control/admission/keeper.ts'
import { grantCredits } from '../../../control/book/ledger/grantCredits.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import { createAccount } from '../../../control/identity/accounts/accounts.ts'
import { linkExpirer } from '../../../control/products/transfers/links/linkExpirer.ts'
import { cancelLink, claimLink, createLink } from '../../../control/products/transfers/links/links.ts'
import { referralCode } from '../../../control/products/transfers/referrals/codes.ts'
import { referralPayer } from '../../../control/products/transfers/referrals/referralPayer.ts'
import { attachReferrer } from '../../../control/products/transfers/referrals/referrals.ts'
import { GATEWAY } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { type UndoableTransaction, withUndo } from '../../../control/runtime/db/undoable.ts'
import { ledgerLimits } from '../../support/limits.ts'
import {
  admissionIsOpen,
  assertCleanAudit,
  type Book,
  ensureOpen,
  log,
  scalar,
  startBook,
  TestProxy,
  until,
} from '../../support/parts/ledger.ts'
import { ACCOUNTS, batches, type Step } from '../../support/parts/moneySteps.ts'
import { rounds } from '../../support/rounds.ts'

// As many grants as a sequence has steps.
const limits = { ...ledgerLimits, grantsPerAccountMax: 1_000 }

const COIN_UNITS = 1_000
/** A failure depends on timing, so that shrinking would only bury it. */
const REPORT = { endOnFailure: true, includeErrorInReport: true }

let book: Book
let debits: Debits
let proxy: TestProxy
let parts: { stop(): Promise<void> }[] = []

before(async () => {
  book = await startBook()
  const { pool, redis } = book
  await ensureOpen(book)
  debits = new Debits(pool, redis, limits)
  proxy = new TestProxy(redis)
  await proxy.beat()
  parts = [
    new SettlementConsumer({ redisUrl: book.redisServer.url, pool, log, consumer: 'c1', limits }),
    new EventDispatcher({ pool, redis, log, limits }),
    new GrantSweeper({ pool, redis, log, limits }),
    new AdmissionKeeper({ pool, redis, log, limits }),
    debitKeeper({ pool, redis, log, debits, limits }),
    linkExpirer({ pool, log, limits }),
    referralPayer({ pool, log, limits }),
  ]
})
after(async () => {
  await Promise.all(parts.map((part) => part.stop()))
  await book.stop()
})

class Died extends Error {}

class Run {
  readonly accounts: string[]
  readonly links: { id: string; token: string; owner: string }[] = []
  readonly holds: { accountId: string; requestId: string; units: number }[] = []

  constructor(accounts: string[]) {
    this.accounts = accounts
  }

  async do(next: Step): Promise<void> {
    try {
      await this.try(next)
    } catch (error) {
      const isExpected = error instanceof GatewayError || error instanceof Died || isLostConnection(error)
      if (!isExpected) throw error
    }
  }

  private async try(next: Step): Promise<void> {
    switch (next.kind) {
      case 'link':
        return this.link(next)
      case 'claim':
      case 'cancel':
        return this.endLink(next)
      case 'grant':
        return this.grant(next)
      case 'hold':
        return this.hold(next)
      case 'settle':
        return this.settle(next.pick, next.share)
      case 'lose Redis':
        await book.redis.flushall()
        return undefined
      default:
        return this.pay(next)
    }
  }

  private account(index: number): string {
    return this.accounts[index] ?? assert.fail()
  }

  private async pay(next: Extract<Step, { kind: 'pay' | 'pay, then fail' | 'pay, then die' }>): Promise<void> {
    const [accountId, to] = [this.account(next.from), this.account(next.to)]
    if (accountId === to) return
    const keyId = accountId.replace('acct', 'key')
    const caps = { ...NO_CAPS, hour: 900, month: 2_000 }
    const debit = {
      id: newId('pay'),
      accountId,
      nanos: next.units,
      units: next.units,
      kind: 'agent_pay',
      to: { accountId: to },
      ...(next.capped ? { spender: { keyId, caps } } : {}),
    }
    const work = async (transaction: UndoableTransaction) => {
      await debits.move(transaction, debit)
      if (next.kind !== 'pay') throw new Died()
    }
    if (next.kind !== 'pay, then die') return withUndo(book.pool, () => {}, work)
    // A process that dies rolls back without a word, and undoes nothing.
    return withTransaction(book.pool, (client) => work({ client, onRollback: () => {} }))
  }

  private async link(next: Extract<Step, { kind: 'link' }>): Promise<void> {
    const accountId = this.account(next.from)
    const expiresAtMs = Date.now() + next.livesMs
    const link = { accountId, nanos: next.units, units: next.units, note: '', expiresAtMs }
    const { link: made, token } = await withUndo(
      book.pool,
      () => {},
      (transaction) => createLink(transaction, debits, GATEWAY, link),
    )
    this.links.push({ id: made.id, token, owner: accountId })
  }

  private async endLink(next: Extract<Step, { kind: 'claim' | 'cancel' }>): Promise<void> {
    const link = this.links[next.pick % Math.max(1, this.links.length)]
    if (link === undefined) return
    await withTransaction(book.pool, (client) =>
      next.kind === 'claim'
        ? claimLink(client, GATEWAY, link.token, this.account(next.by))
        : cancelLink(client, GATEWAY, link.id, link.owner),
    )
  }

  private async grant(next: Extract<Step, { kind: 'grant' }>): Promise<void> {
    const expiresAtMs = Date.now() + next.livesMs
    const grant = { accountId: this.account(next.from), units: next.units, source: 't', expiresAtMs }
    await withTransaction(book.pool, (client) => grantCredits(client, grant, limits))
  }

  private async hold(next: Extract<Step, { kind: 'hold' }>): Promise<void> {
    const hold = { accountId: this.account(next.from), requestId: newId('req') }
    const { code, units: held } = await proxy.hold(hold.accountId, hold.requestId, next.units)
    if (code === HoldCode.OK) this.holds.push({ ...hold, units: held })
  }

  private async settle(at: number, share: number): Promise<void> {
    const [hold] = this.holds.splice(at % Math.max(1, this.holds.length), 1)
    if (hold === undefined) return
    const charge = share < 0 ? -1 : Math.floor((hold.units * share) / 100)
    for (;;) {
      const { code } = await proxy.settle(hold.accountId, hold.requestId, charge, hold.units)
      // A hold that went with Redis is not the matter here; see admission-sequences.
      if (code !== SettleCode.CLOSED) return
      await sleep(10)
    }
  }

  async finish(): Promise<void> {
    while (this.holds.length > 0) await this.settle(0, 50)
    await until('everything is where it belongs', async () => {
      for (let shard = 0; shard < SHARD_COUNT; shard++) {
        const [entries, taken] = [await book.redis.xlen(ledgerStream(shard)), await book.redis.hlen(debitsKey(shard))]
        if (entries > 0 || taken > 0) return false
      }
      // A link that ends while the sums are compared would be in one of them only.
      const ending = `SELECT count(*) FROM links WHERE status = 'open' AND expires_at < now() + interval '1 minute'`
      if ((await scalar<number>(book.pool, ending)) > 0) return false
      const uncounted = 'SELECT sum(h.size - c.position) FROM usage_log_heads h JOIN referral_cursors c USING (log)'
      if ((await scalar<number>(book.pool, uncounted)) > 0) return false
      if ((await scalar<number>(book.pool, 'SELECT count(*) FROM admission_events')) > 0) return false
      return admissionIsOpen(book)
    })
    await assertCleanAudit(book)
    for (const accountId of this.accounts) {
      const inRedis = await book.redis.hget(accountKey(shardOf(accountId), accountId), 'coin')
      const inBook = await scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [
        `coin:${accountId}`,
      ])
      assert.equal(Number(inRedis), inBook)
    }
    await this.assertConserved()
  }

  /** What the accounts were given or earned is theirs, in their open links, or was charged. */
  private async assertConserved(): Promise<void> {
    const owned = await scalar<number>(
      book.pool,
      `SELECT (SELECT sum(balance) FROM ledger_accounts WHERE id = ANY ($1::text[]))
         + (SELECT coalesce(sum(units), 0) FROM links WHERE account_id = ANY ($2::text[]) AND status = 'open')
         + (SELECT coalesce(sum(units), 0) FROM transfers WHERE kind = 'charge' AND debit = ANY ($1::text[]))
         - (SELECT coalesce(sum(units), 0) FROM transfers WHERE kind = 'referral' AND credit = ANY ($1::text[]))`,
      [this.accounts.map((id) => `coin:${id}`), this.accounts],
    )
    assert.equal(owned, ACCOUNTS * COIN_UNITS)
  }
}

const isLostConnection = (error: unknown): boolean => /connection|closed|NOSCRIPT/i.test(String(error))

async function play(plan: readonly (readonly Step[])[]): Promise<void> {
  const accounts = await Promise.all(
    Array.from({ length: ACCOUNTS }, () =>
      withTransaction(book.pool, (client) => createAccount(client, limits, { coinNanos: COIN_UNITS })),
    ),
  )
  await until('the accounts are in Redis', async () => {
    const coins = await Promise.all(accounts.map((id) => proxy.freeCoin(id)))
    return coins.every((coin) => coin === COIN_UNITS)
  })
  // In a ring, so that everybody is paid for somebody else.
  for (const [i, accountId] of accounts.entries()) {
    const code = await referralCode(book.pool, accounts[(i + 1) % ACCOUNTS] ?? assert.fail())
    await withTransaction(book.pool, (client) => attachReferrer(client, GATEWAY, accountId, code, limits))
  }
  const run = new Run(accounts)
  for (const batch of plan) await Promise.all(batch.map((next) => run.do(next)))
  await run.finish()
}

test('any interleaving of payments, links, holds and expiries keeps every unit', async () => {
  await fc.assert(
    fc.asyncProperty(batches, (plan) => play(plan)),
    { ...REPORT, numRuns: rounds({ short: 2, long: 20 }) },
  )
})

test('the same with a Redis that is emptied at any moment', async () => {
  await fc.assert(
    fc.asyncProperty(batches, fc.nat(), async (plan, when) => {
      const lost: Step = { kind: 'lose Redis' }
      const at = when % plan.length
      await play(plan.map((batch, i) => (i === at ? [...batch.slice(0, 4), lost, ...batch.slice(4)] : batch)))
    }),
    { ...REPORT, numRuns: rounds({ short: 1, long: 10 }) },
  )
})
