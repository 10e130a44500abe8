import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { newId } from '../../../contract/wire/ids.ts'
import { ledgerStream, SHARD_COUNT } from '../../../contract/wire/redisKeys.ts'
import { HoldCode, SettleCode } from '../../../contract/wire/scripts.ts'
import { EventDispatcher } from '../../../control/admission/dispatcher.ts'
import { GrantSweeper } from '../../../control/admission/grantSweeper.ts'
import { AdmissionKeeper } from '../../../control/admission/keeper.ts'
import { settleLost } from '../../../control/admission/settleLost.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { grantCredits } from '../../../control/book/ledger/grantCredits.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import {
  admissionIsOpen,
  assertCleanAudit,
  type Book,
  ensureOpen,
  log,
  newAccount,
  orphanVoider,
  scalar,
  settlementOf,
  startBook,
  TestProxy,
  until,
} from '../../support/parts/ledger.ts'
import { rounds } from '../../support/rounds.ts'

const ACCOUNTS = 3
/** A failure depends on timing, so that shrinking would only bury it. */
const REPORT = { endOnFailure: true, includeErrorInReport: true }
let book: Book
let parts: { stop(): Promise<void> }[] = []
let proxy: TestProxy
let beats: NodeJS.Timeout

before(async () => {
  book = await startBook()
  await ensureOpen(book)
  const { pool, redis } = book
  parts = [
    new SettlementConsumer({ redisUrl: book.redisServer.url, pool, log, consumer: 'c1', limits }),
    new SettlementConsumer({ redisUrl: book.redisServer.url, pool, log, consumer: 'c2', limits }),
    new EventDispatcher({ pool, redis, log, limits }),
    new GrantSweeper({ pool, redis, log, limits }),
    new AdmissionKeeper({ pool, redis, log, limits }),
    orphanVoider(book),
  ]
  proxy = new TestProxy(redis)
  await proxy.beat()
  beats = setInterval(() => void proxy.beat().catch(() => {}), 100)
})
after(async () => {
  clearInterval(beats)
  await Promise.all(parts.map((part) => part.stop()))
  await book.stop()
})

/** A hold that the proxy still has to end. */
interface OpenHold {
  readonly accountId: string
  readonly requestId: string
  readonly units: number
}

type Step =
  | { readonly kind: 'credit'; readonly account: number; readonly units: number }
  | { readonly kind: 'grant'; readonly account: number; readonly units: number; readonly livesMs: number }
  | { readonly kind: 'hold'; readonly account: number; readonly want: number; readonly least: number }
  | { readonly kind: 'settle'; readonly pick: number; readonly share: number }
  | { readonly kind: 'void'; readonly pick: number }
  | { readonly kind: 'again'; readonly pick: number }
  | { readonly kind: 'wait' }

const account = fc.nat(ACCOUNTS - 1)
const amount = fc.integer({ min: 1, max: 500 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('credit' as const), account, units: amount }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('grant' as const),
      account,
      units: amount,
      livesMs: fc.constantFrom(30, 200, 86_400_000),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('hold' as const),
      account,
      want: amount,
      least: fc.integer({ min: 0, max: 50 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      pick: fc.nat(),
      share: fc.integer({ min: 0, max: 130 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('void' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('again' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const) }) },
)

/** One run's accounts, its open holds, and what each request has to cost in the end. */
class Run {
  readonly accounts: string[]
  readonly open: OpenHold[] = []
  readonly ended: OpenHold[] = []
  readonly charges = new Map<string, number>()
  /** Ended when Redis was emptied: the ends that nobody had read yet are gone with it. */
  readonly mayBeLost = new Set<string>()

  constructor(accounts: string[]) {
    this.accounts = accounts
  }

  async do(next: Step): Promise<void> {
    if (next.kind === 'wait') await sleep(20)
    else if (next.kind === 'hold') await this.hold(next)
    else if (next.kind === 'credit' || next.kind === 'grant') await this.pay(next)
    else if (next.kind === 'again') await this.again(next.pick)
    else await this.end(next.pick, next.kind === 'void' ? -1 : next.share)
  }

  private async pay(next: Extract<Step, { kind: 'credit' | 'grant' }>): Promise<void> {
    const accountId = this.accounts[next.account] ?? ''
    await withTransaction(book.pool, async (client) => {
      if (next.kind === 'credit')
        await creditCoin(client, { accountId, nanos: next.units, units: next.units, ref: newId('evt') })
      else
        await grantCredits(
          client,
          {
            accountId,
            units: next.units,
            source: 't',
            expiresAtMs: Date.now() + next.livesMs,
          },
          limits,
        )
    }).catch((error: Error) => assert.equal(error.name, 'TooManyGrantsError'))
  }

  private async hold({ account, want, least }: Extract<Step, { kind: 'hold' }>): Promise<void> {
    const accountId = this.accounts[account] ?? ''
    const requestId = newId('req')
    const { code, units } = await proxy.hold(accountId, requestId, want, Math.min(least, want))
    if (code === HoldCode.OK) this.open.push({ accountId, requestId, units })
    else assert.ok([HoldCode.BALANCE, HoldCode.NO_ACCOUNT, HoldCode.CLOSED].some((known) => known === code))
  }

  /** @param share of the hold in percent, above 100 to ask for more than was held; -1 voids */
  private async end(pick: number, share: number): Promise<void> {
    const [hold] = this.open.splice(pick % Math.max(this.open.length, 1), 1)
    if (hold === undefined) return
    const charge = share < 0 ? -1 : Math.floor((hold.units * share) / 100)
    await this.settle(hold, charge)
    this.ended.push(hold)
  }

  /** A settle that is repeated, as after an answer that got lost, answers the first result. */
  private async again(pick: number): Promise<void> {
    const hold = this.ended[pick % Math.max(this.ended.length, 1)]
    if (hold === undefined) return
    const { code, units } = await proxy.settle(hold.accountId, hold.requestId, 1, hold.units)
    if (code === SettleCode.CLOSED || code === SettleCode.UNKNOWN) return
    assert.ok(code === SettleCode.ALREADY_SETTLED || code === SettleCode.ALREADY_VOIDED)
    assert.equal(Math.max(units, 0), this.charges.get(hold.requestId))
  }

  /** What a proxy does: again while admission is closed, by the book when the hold is lost. */
  private async settle(hold: OpenHold, charge: number): Promise<void> {
    for (;;) {
      const { code, units } = await proxy.settle(hold.accountId, hold.requestId, charge, hold.units).catch(() => ({
        code: SettleCode.CLOSED,
        units: 0,
      }))
      if (code === SettleCode.SETTLED || code === SettleCode.ALREADY_SETTLED) {
        assert.equal(units, charge < 0 ? -1 : Math.min(charge, hold.units))
        this.charges.set(hold.requestId, Math.max(units, 0))
        return
      }
      if (code === SettleCode.UNKNOWN) {
        if (charge < 0) return
        const { accountId, requestId, units: holdUnits } = hold
        const settlement = settlementOf({ accountId, requestId, holdUnits, chargeUnits: Math.min(charge, holdUnits) })
        const charged = await settleLost(book.redis, book.pool, settlement, limits).catch(() => -1)
        if (charged >= 0) {
          this.charges.set(requestId, charged)
          return
        }
      }
      await sleep(10)
    }
  }

  async finish(): Promise<void> {
    while (this.open.length > 0) await this.end(0, 60)
    await until('everything is booked', async () => {
      for (let shard = 0; shard < SHARD_COUNT; shard++)
        if ((await book.redis.xlen(ledgerStream(shard))) > 0) return false
      if ((await scalar<number>(book.pool, 'SELECT count(*) FROM admission_events')) > 0) return false
      // A loss that nothing has run into since is only noticed by the next check of the keeper.
      return admissionIsOpen(book)
    })
    const found = await book.pool.query<{ request_id: string; charge_units: number }>(
      'SELECT request_id, charge_units FROM receipts WHERE account_id = ANY ($1)',
      [this.accounts],
    )
    const booked = new Map(found.rows.map((row) => [row.request_id, row.charge_units]))
    for (const [requestId, units] of this.charges) {
      if (this.mayBeLost.has(requestId) && !booked.has(requestId)) continue
      assert.equal(booked.get(requestId), units, requestId)
    }
    await assertCleanAudit(book)
  }
}

async function play(steps: readonly Step[], between: (place: number, run: Run) => Promise<void>): Promise<void> {
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => newAccount(book.pool, 300)))
  const run = new Run(accounts)
  for (const [place, next] of steps.entries()) {
    await between(place, run)
    await run.do(next)
  }
  await run.finish()
}

test('after any sequence of credits, grants, holds, settles, voids and expiries the audit is clean', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => play(steps, async () => {})),
    { ...REPORT, numRuns: rounds({ short: 3, long: 20 }) },
  )
})

test('the same with a Redis that is emptied at any moment', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), fc.nat(79), (steps, when) =>
      play(steps, async (place, run) => {
        if (place !== when % steps.length) return
        for (const requestId of run.charges.keys()) run.mayBeLost.add(requestId)
        await book.redis.flushall()
      }),
    ),
    { ...REPORT, numRuns: rounds({ short: 2, long: 12 }) },
  )
})

test('the same with a Redis that is killed and restarted', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), fc.nat(59), (steps, when) =>
      play(steps, async (place) => {
        if (place !== when % steps.length) return
        await book.redisServer.kill9()
        await book.redisServer.restart()
        await until('Redis answers', async () => book.redis.status === 'ready')
      }),
    ),
    { ...REPORT, numRuns: rounds({ short: 1, long: 6 }) },
  )
})
