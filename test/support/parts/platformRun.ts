import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { NO_CAPS } from '../../../contract/money/windows.ts'
import { capArguments, capCode } from '../../../contract/wire/caps.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { debitsKey, keyCountersKey, ledgerStream, SHARD_COUNT, shardOf } from '../../../contract/wire/redisKeys.ts'
import { HoldCode, SettleCode } from '../../../contract/wire/scripts.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { settleLost } from '../../../control/admission/settleLost.ts'
import { createAccount } from '../../../control/identity/accounts/accounts.ts'
import { createKey } from '../../../control/identity/keys/keys.ts'
import { makeSubKey } from '../../../control/identity/platform/subKeys.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { type UndoableTransaction, withUndo } from '../../../control/runtime/db/undoable.ts'
import { ledgerLimits as limits } from '../limits.ts'
import {
  admissionIsOpen,
  assertCleanAudit,
  type Book,
  scalar,
  settlementOf,
  type TestKey,
  TestProxy,
  until,
} from './ledger.ts'

export const SUB_KEYS = 3
const COIN_UNITS = 100_000
export const BUDGET_UNITS = 2_000

/** What happens to the keys. */
export type Step =
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
/** Batches of steps, each of which runs at once. */
export const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 5, maxLength: 20 })

class Died extends Error {}

/** The parts of control and the proxy that a run goes through. */
export interface PlatformWorld {
  readonly book: Book
  readonly debits: Debits
  readonly proxy: TestProxy
}

const isLostConnection = (error: unknown): boolean => /connection|closed|NOSCRIPT/i.test(String(error))

/** An account with a platform key and its sub-keys, and one that is paid. */
export class PlatformRun {
  private readonly world: PlatformWorld
  readonly accountId: string
  readonly payeeId: string
  readonly platformKeyId: string
  readonly keys: TestKey[]
  readonly holds: { requestId: string; units: number; key: TestKey }[] = []
  refused = 0

  private constructor(
    world: PlatformWorld,
    accountId: string,
    payeeId: string,
    platformKeyId: string,
    subKeyIds: readonly string[],
  ) {
    this.world = world
    this.accountId = accountId
    this.payeeId = payeeId
    this.platformKeyId = platformKeyId
    const platform = { keyId: platformKeyId, caps: capArguments({ ...NO_CAPS, life: BUDGET_UNITS }) }
    this.keys = [...subKeyIds.map((keyId) => ({ keyId, platform })), { keyId: platformKeyId }]
  }

  /** Makes an account with a platform key and its sub-keys. */
  static async start(world: PlatformWorld): Promise<PlatformRun> {
    const { book, proxy } = world
    const { pool } = book
    const [accountId, payeeId] = await Promise.all([
      withTransaction(pool, (client) => createAccount(client, limits, { coinNanos: COIN_UNITS })),
      withTransaction(pool, (client) => createAccount(client, limits, {})),
    ])
    const { key: platform } = await createKey(pool, accountId, { isPlatform: true })
    const subKeys = await Promise.all(
      Array.from({ length: SUB_KEYS }, () =>
        withTransaction(pool, (client) => makeSubKey(client, OPERATOR, platform, '', {})),
      ),
    )
    await until('the account is in Redis', async () => (await proxy.freeCoin(accountId)) === COIN_UNITS)
    return new PlatformRun(
      world,
      accountId,
      payeeId,
      platform.id,
      subKeys.map(({ key }) => key.id),
    )
  }

  async do(next: Step): Promise<void> {
    try {
      if (next.kind === 'hold') await this.hold(next)
      else if (next.kind === 'settle') await this.settle(next.pick, next.share)
      else if (next.kind === 'die') await this.die(next)
      else if (next.kind === 'lose Redis') await this.world.book.redis.flushall()
      else await this.pay(next)
    } catch (error) {
      if (!(error instanceof GatewayError || error instanceof Died || isLostConnection(error))) throw error
    }
  }

  private async hold({ key, units, least }: Extract<Step, { kind: 'hold' }>): Promise<void> {
    const by = this.key(key)
    const requestId = newId('req')
    const held = await this.world.proxy.hold(this.accountId, requestId, units, Math.min(least, units), by)
    if (held.code === HoldCode.OK) this.holds.push({ requestId, units: held.units, key: by })
    else if (held.code === capCode({ span: 'life', isPlatforms: true })) this.refused++
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
    const dead = new TestProxy(this.world.book.redis)
    await dead.beat()
    await dead.hold(this.accountId, newId('req'), units, units, this.key(key))
  }

  private async settle(at: number, share: number): Promise<void> {
    const [hold] = this.holds.splice(at % Math.max(1, this.holds.length), 1)
    if (hold === undefined) return
    const { requestId, units: holdUnits } = hold
    const charge = share < 0 ? -1 : Math.floor((holdUnits * share) / 100)
    for (;;) {
      const { code } = await this.world.proxy.settle(this.accountId, requestId, charge, holdUnits, hold.key)
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
    return settleLost(this.world.book.redis, this.world.book.pool, settlement, limits).then(
      () => true,
      () => false,
    )
  }

  private async pay(next: Extract<Step, { kind: 'pay' | 'pay, then fail' | 'pay, then die' }>): Promise<void> {
    const { keyId, platform } = this.key(next.key)
    const bound = platform && { platform: { keyId: platform.keyId, caps: { ...NO_CAPS, life: BUDGET_UNITS } } }
    const debit = {
      id: newId('pay'),
      accountId: this.accountId,
      nanos: next.units,
      units: next.units,
      kind: 'agent_pay',
      to: { accountId: this.payeeId },
      spender: { keyId, caps: NO_CAPS, ...bound },
    }
    const work = async (transaction: UndoableTransaction) => {
      await this.world.debits.move(transaction, debit)
      if (next.kind !== 'pay') throw new Died()
    }
    if (next.kind !== 'pay, then die') return withUndo(this.world.book.pool, () => {}, work)
    return withTransaction(this.world.book.pool, (client) => work({ client, onRollback: () => {} }))
  }

  /** What the platform key has spent over its life, as its counter says. */
  async counter(): Promise<number> {
    const found = await this.world.book.redis.hget(keyCountersKey(shardOf(this.accountId), this.platformKeyId), 'bs')
    return Number(found ?? 0)
  }

  /** What the receipts and debits of the keys say. */
  spent(keyIds: readonly string[]): Promise<number> {
    return scalar<number>(
      this.world.book.pool,
      `SELECT (SELECT coalesce(sum(charge_units), 0) FROM receipts WHERE key_id = ANY ($1::text[]))
         + (SELECT coalesce(sum(units), 0) FROM debits WHERE key_id = ANY ($1::text[]) AND NOT voided)`,
      [keyIds],
    )
  }

  async finish(): Promise<void> {
    while (this.holds.length > 0) await this.settle(0, 50)
    await until('everything is where it belongs', async () => {
      for (let shard = 0; shard < SHARD_COUNT; shard++) {
        const [entries, taken] = [
          await this.world.book.redis.xlen(ledgerStream(shard)),
          await this.world.book.redis.hlen(debitsKey(shard)),
        ]
        if (entries > 0 || taken > 0) return false
      }
      if ((await this.world.book.redis.keys('holds:*')).length > 0) return false
      if ((await scalar<number>(this.world.book.pool, 'SELECT count(*) FROM admission_events')) > 0) return false
      return admissionIsOpen(this.world.book)
    })
    await assertCleanAudit(this.world.book)
    assert.equal(await this.counter(), await this.spent(this.keys.map(({ keyId }) => keyId)))
  }
}
