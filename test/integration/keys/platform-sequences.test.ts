// Goal: what sub-keys hold, are charged and move is counted by their platform key exactly, never beyond its budget, whatever
// runs at once and however it ends. Method: random batches of steps, each batch at once, over the parts of control without
// HTTP; the platform key's counters are compared with receipts and debits, then the audit.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { newId } from '../../../contract/wire/ids.ts'
import {
  accountKeys,
  debitsKey,
  keyCountersKey,
  ledgerStream,
  SHARD_COUNT,
  shardKeys,
  shardOf,
} from '../../../contract/wire/redisKeys.ts'
import { defineScript, HoldCode, type ScriptKey, SettleCode } from '../../../contract/wire/scripts.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { DebitKeeper } from '../../../control/admission/debits/debitKeeper.ts'
import { EventDispatcher } from '../../../control/admission/dispatcher.ts'
import { AdmissionKeeper, ensureAdmission } from '../../../control/admission/keeper.ts'
import { OrphanVoider } from '../../../control/admission/orphanVoider.ts'
import { settleLost } from '../../../control/admission/settleLost.ts'
import { NO_CAPS } from '../../../control/book/ledger/spendingCaps.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import { createAccount } from '../../../control/customers/accounts/accounts.ts'
import { createKey } from '../../../control/customers/keys/keys.ts'
import { makeSubKey } from '../../../control/customers/platform/subKeys.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { type UndoableTransaction, withUndo } from '../../../control/runtime/db/undoable.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import {
  admissionIsOpen,
  assertCleanAudit,
  type Book,
  log,
  scalar,
  settlementOf,
  startBook,
  type TestKey,
  TestProxy,
  until,
} from '../../support/parts/ledger.ts'

const SUB_KEYS = 3
const COIN_UNITS = 100_000
const BUDGET_UNITS = 2_000
/** A failure depends on timing, so that shrinking would only bury it. */
const REPORT = { endOnFailure: true, includeErrorInReport: true }

let book: Book
let debits: Debits
let proxy: TestProxy
let beats: NodeJS.Timeout
let parts: { stop(): Promise<void> }[] = []

before(async () => {
  book = await startBook()
  const { pool, redis } = book
  await ensureAdmission({ pool, redis, log, limits })
  debits = new Debits(pool, redis, limits)
  proxy = new TestProxy(redis)
  await proxy.beat()
  beats = setInterval(() => void proxy.beat().catch(() => {}), 100)
  parts = [
    new SettlementConsumer({ redisUrl: book.redisServer.url, pool, log, consumer: 'c1', limits }),
    new EventDispatcher({ pool, redis, log, limits }),
    new AdmissionKeeper({ pool, redis, log, limits }),
    new DebitKeeper({ pool, redis, log, debits, limits }),
    new OrphanVoider({ redis, log, limits }),
  ]
})
after(async () => {
  clearInterval(beats)
  await Promise.all(parts.map((part) => part.stop()))
  await book.stop()
})

type Step =
  | { readonly kind: 'hold'; readonly key: number; readonly units: number; readonly least: number }
  | { readonly kind: 'settle'; readonly pick: number; readonly share: number }
  | { readonly kind: 'die'; readonly key: number; readonly units: number }
  | { readonly kind: 'pay' | 'pay, then fail' | 'pay, then die'; readonly key: number; readonly units: number }
  | { readonly kind: 'lose Redis' }

/** The platform key itself comes after its sub-keys. */
const key = fc.nat(SUB_KEYS)
const units = fc.integer({ min: 1, max: 400 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('hold' as const), key, units, least: fc.integer({ min: 1, max: 400 }) }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      pick: fc.nat(),
      share: fc.integer({ min: -20, max: 120 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('die' as const), key, units }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('pay' as const, 'pay, then fail' as const, 'pay, then die' as const),
      key,
      units,
    }),
  },
)
const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 5, maxLength: 20 })

class Died extends Error {}

/** An account with a platform key and its sub-keys, and one that is paid. */
class Run {
  readonly accountId: string
  readonly payeeId: string
  readonly platformKeyId: string
  readonly keys: TestKey[]
  readonly holds: { requestId: string; units: number; key: TestKey }[] = []
  refused = 0

  constructor(accountId: string, payeeId: string, platformKeyId: string, subKeyIds: readonly string[]) {
    this.accountId = accountId
    this.payeeId = payeeId
    this.platformKeyId = platformKeyId
    const platform = { keyId: platformKeyId, caps: ['', '', '', String(BUDGET_UNITS)] as const }
    this.keys = [...subKeyIds.map((keyId) => ({ keyId, platform })), { keyId: platformKeyId }]
  }

  async do(next: Step): Promise<void> {
    try {
      if (next.kind === 'hold') await this.hold(next)
      else if (next.kind === 'settle') await this.settle(next.pick, next.share)
      else if (next.kind === 'die') await this.die(next)
      else if (next.kind === 'lose Redis') await book.redis.flushall()
      else await this.pay(next)
    } catch (error) {
      if (!(error instanceof GatewayError || error instanceof Died || isLostConnection(error))) throw error
    }
  }

  private async hold({ key, units, least }: Extract<Step, { kind: 'hold' }>): Promise<void> {
    const by = this.key(key)
    const requestId = newId('req')
    const held = await proxy.hold(this.accountId, requestId, units, Math.min(least, units), by)
    if (held.code === HoldCode.OK) this.holds.push({ requestId, units: held.units, key: by })
    else if (held.code === HoldCode.PLATFORM_BUDGET) this.refused++
    else
      assert.ok(
        [HoldCode.CLOSED, HoldCode.NO_ACCOUNT].some((code) => code === held.code),
        String(held.code),
      )
  }

  /** The platform key itself is used without a budget of its own, so that only what its sub-keys do is refused. */
  private key(index: number): TestKey {
    return this.keys[index] ?? assert.fail()
  }

  /** A proxy that takes a hold and is never heard of again. */
  private async die({ key, units }: Extract<Step, { kind: 'die' }>): Promise<void> {
    const dead = new TestProxy(book.redis)
    await dead.beat()
    await dead.hold(this.accountId, newId('req'), units, units, this.key(key))
  }

  private async settle(at: number, share: number): Promise<void> {
    const [hold] = this.holds.splice(at % Math.max(1, this.holds.length), 1)
    if (hold === undefined) return
    const { requestId, units: holdUnits } = hold
    const charge = share < 0 ? -1 : Math.floor((holdUnits * share) / 100)
    for (;;) {
      const { code } = await proxy.settle(this.accountId, requestId, charge, holdUnits, hold.key)
      if (code === SettleCode.UNKNOWN && charge >= 0 && (await this.settleLost(hold, charge))) return
      if (code !== SettleCode.CLOSED && (code !== SettleCode.UNKNOWN || charge < 0)) return
      await sleep(10)
    }
  }

  private async settleLost(hold: { requestId: string; units: number; key: TestKey }, charge: number): Promise<boolean> {
    const settlement = settlementOf({
      requestId: hold.requestId,
      accountId: this.accountId,
      keyId: hold.key.keyId,
      holdUnits: hold.units,
      chargeUnits: Math.min(charge, hold.units),
    })
    return settleLost(book.redis, book.pool, settlement, limits).then(
      () => true,
      () => false,
    )
  }

  private async pay(next: Extract<Step, { kind: 'pay' | 'pay, then fail' | 'pay, then die' }>): Promise<void> {
    const { keyId, platform } = this.key(next.key)
    const bound = platform && { platform: { keyId: platform.keyId, caps: { ...NO_CAPS, budgetUnits: BUDGET_UNITS } } }
    const debit = {
      id: newId('pay'),
      accountId: this.accountId,
      units: next.units,
      kind: 'agent_pay',
      to: { accountId: this.payeeId },
      spender: { keyId, caps: NO_CAPS, ...bound },
    }
    const work = async (transaction: UndoableTransaction) => {
      await debits.move(transaction, debit)
      if (next.kind !== 'pay') throw new Died()
    }
    if (next.kind !== 'pay, then die') return withUndo(book.pool, () => {}, work)
    return withTransaction(book.pool, (client) => work({ client, onRollback: () => {} }))
  }

  /** What the platform key has spent over its life, as its counter says. */
  async counter(): Promise<number> {
    const found = await book.redis.hget(keyCountersKey(shardOf(this.accountId), this.platformKeyId), 'bs')
    return Number(found ?? 0)
  }

  /** What the receipts and debits of the keys say. */
  spent(keyIds: readonly string[]): Promise<number> {
    return scalar<number>(
      book.pool,
      `SELECT (SELECT coalesce(sum(charge_units), 0) FROM receipts WHERE key_id = ANY ($1::text[]))
         + (SELECT coalesce(sum(units), 0) FROM debits WHERE key_id = ANY ($1::text[]) AND NOT voided)`,
      [keyIds],
    )
  }

  async finish(): Promise<void> {
    while (this.holds.length > 0) await this.settle(0, 50)
    await until('everything is where it belongs', async () => {
      for (let shard = 0; shard < SHARD_COUNT; shard++) {
        const [entries, taken] = [await book.redis.xlen(ledgerStream(shard)), await book.redis.hlen(debitsKey(shard))]
        if (entries > 0 || taken > 0) return false
      }
      if ((await book.redis.keys('holds:*')).length > 0) return false
      if ((await scalar<number>(book.pool, 'SELECT count(*) FROM admission_events')) > 0) return false
      return admissionIsOpen(book)
    })
    await assertCleanAudit(book)
    assert.equal(await this.counter(), await this.spent(this.keys.map(({ keyId }) => keyId)))
  }
}

const isLostConnection = (error: unknown): boolean => /connection|closed|NOSCRIPT/i.test(String(error))

async function newRun(): Promise<Run> {
  const { pool } = book
  const [accountId, payeeId] = await Promise.all([
    withTransaction(pool, (client) => createAccount(client, limits, { coinUnits: COIN_UNITS })),
    withTransaction(pool, (client) => createAccount(client, limits, {})),
  ])
  const { key: platform } = await createKey(pool, accountId, { isPlatform: true })
  const subKeys = await Promise.all(
    Array.from({ length: SUB_KEYS }, () =>
      withTransaction(pool, (client) => makeSubKey(client, OPERATOR, platform, '', {})),
    ),
  )
  await until('the account is in Redis', async () => (await proxy.freeCoin(accountId)) === COIN_UNITS)
  return new Run(
    accountId,
    payeeId,
    platform.id,
    subKeys.map(({ key }) => key.id),
  )
}

test('items of sub-keys and of other keys in one call are counted each by its own keys', async () => {
  const run = await newRun()
  const shard = shardOf(run.accountId)
  const { epoch, behindHold } = shardKeys(shard, proxy.owner)
  const items = ['sub 0', '', 'sub 1', '', 'sub 0', 'sub 2', ''].map((name) => run.keys[Number(name.slice(4) || NaN)])
  const units = [1, 10, 100, 1_000, 10_000, 15_000, 1_000_000]
  const keys: ScriptKey[] = []
  const args: (string | number)[] = [items.length, 1_000_000]
  for (const [i, by] of items.entries()) {
    keys.push(epoch, accountKeys(shard, run.accountId, by?.keyId ?? 'key_of_nobody'), behindHold)
    args.push(`${run.accountId}-${i}`, run.accountId, by?.keyId ?? 'key_of_nobody', units[i] ?? 0, units[i] ?? 0)
    args.push('', '', '', '', '', 'm,chat,1,0')
  }
  for (const [i, by] of items.entries()) {
    if (by?.platform === undefined) continue
    keys.push(keyCountersKey(shard, by.platform.keyId))
    args.push(i, by.platform.keyId, '', '', '', 20_000)
  }
  const reply = (await defineScript(book.redis, 'hold')(keys, args)) as number[]
  const codes = items.map((_, i) => reply[1 + i * 3])
  const { OK, PLATFORM_BUDGET, BALANCE } = HoldCode
  assert.deepEqual(codes, [OK, OK, OK, OK, OK, PLATFORM_BUDGET, BALANCE])
  assert.equal(await run.counter(), 10_101)
  const spent = await Promise.all(
    [run.keys[0]?.keyId ?? '', 'key_of_nobody'].map((keyId) => book.redis.hget(keyCountersKey(shard, keyId), 'bs')),
  )
  assert.deepEqual(spent, ['10001', '1010'])
  for (const [i, by] of items.entries()) {
    await proxy.settle(run.accountId, `${run.accountId}-${i}`, -1, units[i] ?? 0, by ?? { keyId: 'key_of_nobody' })
  }
  assert.equal(await run.counter(), 0)
  await run.finish()
})

test('the counters of a platform key are what all its keys spend, and its sub-keys never go beyond its budget', async () => {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(batches, async (plan) => {
      const run = await newRun()
      // Without the platform key itself, which is not held to the budget here.
      const bySubKeys = (next: Step): boolean => !('key' in next) || next.key < SUB_KEYS
      for (const batch of plan) {
        await Promise.all(batch.filter(bySubKeys).map((next) => run.do(next)))
        assert.ok((await run.counter()) <= BUDGET_UNITS)
      }
      await run.finish()
      refused += run.refused
    }),
    { ...REPORT, numRuns: 6 },
  )
  assert.ok(refused > 0, 'the budget was never met')
})

test('the same with the platform key in use itself, and a Redis that is emptied at any moment', async () => {
  await fc.assert(
    fc.asyncProperty(batches, fc.nat(), async (plan, when) => {
      const run = await newRun()
      const at = when % plan.length
      for (const [i, batch] of plan.entries()) {
        const steps: readonly Step[] =
          i === at ? [...batch.slice(0, 4), { kind: 'lose Redis' }, ...batch.slice(4)] : batch
        await Promise.all(steps.map((next) => run.do(next)))
      }
      await run.finish()
    }),
    { ...REPORT, numRuns: 5 },
  )
})
