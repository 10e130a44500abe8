// Goal: no unit is made or lost by leases, whatever is called in whatever order: by pot, what is free, out, held and charged
// is what there was; `out` of an account is the sum of its leases; counters are what is out, held and charged.
// Method: random sequences of all scripts of leases, and of single holds beside them, by several owners on a real Redis.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { parseLeaseText } from '../../../contract/wire/countedText.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { epochKey, leasesKey } from '../../../contract/wire/redisKeys.ts'
import { defineScript, LeaseCode, type Script } from '../../../contract/wire/scripts.ts'
import { listHolds } from '../../../control/admission/listHolds.ts'
import { type LeaseChange, LeaseOwner, NO_CAPS } from '../../support/parts/leaseOwner.ts'
import { accountState, endingOf, openShards, plainAccount, spentBy } from '../../support/parts/leaseState.ts'
import {
  addLease,
  addSpent,
  addTo,
  potsOf,
  shareOf,
  sumOf,
  type Units,
  unsettledUnits,
} from '../../support/parts/leaseUnits.ts'
import { TestProxy } from '../../support/parts/ledger.ts'
import { itemOf } from '../../support/present.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'

const SHARD = 3
const OWNERS = 3
const KINDS = ['plain', 'sub'] as const
/** A key of an account. */
const keyOf = (accountId: string, kind: (typeof KINDS)[number] | 'platform' | 'late'): string =>
  `key_${kind}_${accountId}`
const POTS = ['coin', 'grt_a', 'grt_b'] as const
const START = { coin: 1_000, grt_a: 150, grt_b: 300 }

let server: TestServer
let redis: Redis
let closeOwner: Script
before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  closeOwner = defineScript(redis, 'closeOwner')
})
after(async () => {
  redis.disconnect()
  await server.stop()
})

const LEASE_STEPS = [
  'lease',
  'lease',
  'lease',
  'deliver',
  'deliver',
  'leave',
  'leave',
  'late',
  'sync',
  'stale',
  'report',
  'close',
] as const
const STEP_KINDS = [...LEASE_STEPS, 'epoch', 'hold', 'settle'] as const

interface Step {
  readonly kind: (typeof STEP_KINDS)[number]
  readonly owner: number
  readonly account: number
  readonly key: number
  readonly units: number
  /** Percent. */
  readonly share: number
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...STEP_KINDS),
  owner: fc.nat(OWNERS - 1),
  account: fc.nat(1),
  key: fc.nat(KINDS.length - 1),
  units: fc.integer({ min: 0, max: 700 }),
  share: fc.nat(100),
})

/** A lease by its account and its keys. */
type Named = Pick<LeaseChange, 'accountId' | 'platformKeyId'> & { readonly keyId: string }

class Run {
  private readonly owners: LeaseOwner[]
  private readonly proxy = new TestProxy(redis)
  private readonly charged = new Map<string, Units>()
  private readonly chargedBy = new Map<string, number>()
  private readonly open: { requestId: string; accountId: string; units: number }[] = []

  private readonly accounts: readonly string[]

  private constructor(accounts: readonly string[]) {
    this.accounts = accounts
    this.owners = Array.from({ length: OWNERS }, () => new LeaseOwner(redis))
  }

  static async start(): Promise<Run> {
    await openShards(redis)
    const grants = [
      { id: 'grt_a', units: START.grt_a, expiresAtMs: Date.now() + 3_600_000 },
      { id: 'grt_b', units: START.grt_b, expiresAtMs: Date.now() + 7_200_000 },
    ]
    const account = () => plainAccount(redis, { coin: START.coin, grants, shard: SHARD })
    const run = new Run([await account(), await account()])
    await Promise.all(run.owners.map((owner) => owner.open()))
    return run
  }

  async do(next: Step): Promise<void> {
    const owner = itemOf(this.owners, next.owner)
    const accountId = itemOf(this.accounts, next.account)
    const kind = itemOf(KINDS, next.key)
    const keyId = keyOf(accountId, kind)
    const platformKeyId = keyOf(accountId, 'platform')
    const platform = kind === 'sub' ? { platform: { keyId: platformKeyId, caps: NO_CAPS } } : {}
    const named = { accountId, keyId, ...(kind === 'sub' ? { platformKeyId } : {}) }
    const wish = {
      accountId,
      keyId,
      ...platform,
      want: next.units,
      least: Math.min(next.share, next.units),
      extraUnits: 50,
    }
    switch (next.kind) {
      case 'lease':
        return void (await owner.lease([wish, { ...wish, want: next.share, least: 0 }]))
      case 'stale':
        return assert.notEqual((await owner.lease([wish], { op: owner.op }))[0], LeaseCode.OK)
      case 'deliver':
      case 'late':
        return this.deliver(owner, named, next)
      case 'leave':
        return this.leave(owner, named, next)
      case 'sync':
        return void (await owner.sync(SHARD))
      case 'report':
        return this.report(owner, next.share)
      case 'close':
        return void (await closeOwner([epochKey(SHARD), leasesKey(SHARD, owner.owner)], [100]))
      case 'epoch':
        return void (await openShards(redis))
      case 'hold':
        return this.hold(accountId, next.units)
      case 'settle':
        return this.settle(next)
    }
  }

  /** Charges a share of what is out and returns half of the rest; a late one charges as if nothing had been given up. */
  private async deliver(owner: LeaseOwner, named: Named, { kind, share, units }: Step): Promise<void> {
    const text = (await owner.leases(SHARD))[await owner.fieldNow(named)] ?? ''
    const byPot = new Map<string, Units>()
    if (text !== '') addLease(text, byPot, new Map())
    const out = byPot.get(named.accountId) ?? {}
    const charged = kind === 'late' ? { coin: units, grt_a: share } : shareOf(out, share)
    const returned = shareOf(out, (100 - share) / 2)
    const endings = sumOf(charged) > 0 ? [endingOf(named.accountId, sumOf(charged))] : []
    const change = { ...named, charged: potsOf(charged), returned: potsOf(returned) }
    const { code } = await owner.deliver(SHARD, endings, [change])
    if (code === LeaseCode.OK) this.noteCharged(named, charged)
  }

  /** Charges a share of what is out, and leaves it to a later call to take it off. */
  private async leave(owner: LeaseOwner, named: Named, { share }: Step): Promise<void> {
    const field = await owner.fieldNow(named)
    const text = (await owner.leases(SHARD))[field] ?? ''
    if (text === '') return
    const byPot = new Map<string, Units>()
    addLease(text, byPot, new Map())
    const before = unsettledUnits((await owner.unsettled(SHARD)).get(field))
    const left = Object.entries(byPot.get(named.accountId) ?? {}).map(([pot, units]) => [
      pot,
      units - (before[pot] ?? 0),
    ])
    const charged = shareOf(Object.fromEntries(left) as Units, share)
    const all = Object.fromEntries(Object.entries(charged).map(([pot, units]) => [pot, units + (before[pot] ?? 0)]))
    const endings = sumOf(charged) > 0 ? [endingOf(named.accountId, sumOf(charged))] : []
    const { code } = await owner.deliver(SHARD, endings, [], { unsettled: new Map([[field, potsOf(all)]]) })
    if (code === LeaseCode.OK) this.noteCharged(named, charged)
  }

  private noteCharged(named: Named, charged: Units): void {
    addTo(this.charged, named.accountId, charged)
    for (const keyId of [named.keyId, named.platformKeyId]) {
      if (keyId !== undefined) addSpent(this.chargedBy, keyId, sumOf(charged))
    }
  }

  /** Needs a share of what it had, and a little of an account that it had nothing of. */
  private async report(owner: LeaseOwner, share: number): Promise<void> {
    const accountId = itemOf(this.accounts, 0)
    const late = keyOf(accountId, 'late')
    const had = Object.entries(await owner.leases(SHARD)).filter(([field]) => !field.includes(late))
    const leases = had.map(([field, text]) => {
      const [accountId = '', keys = ''] = text.split('|')
      const byPot = new Map<string, Units>()
      addLease(text, byPot, new Map())
      const [keyId = '', platformKeyId] = keys.split('/')
      const out = potsOf(shareOf(byPot.get(accountId) ?? {}, share))
      return { accountId, keyId, ...(platformKeyId === undefined ? {} : { platformKeyId }), field, out }
    })
    const own = { accountId, keyId: late, out: { coin: share, grants: { grt_b: 5 } } }
    assert.equal(await owner.report(SHARD, [...leases, own]), LeaseCode.OK)
    await owner.open(SHARD)
    owner.seqs.set(SHARD, 0)
  }

  private async hold(accountId: string, want: number): Promise<void> {
    const requestId = newId('req')
    const { code, units } = await this.proxy.hold(accountId, requestId, want, 0, { keyId: keyOf(accountId, 'plain') })
    if (code === 0) this.open.push({ requestId, accountId, units })
  }

  private async settle({ share, units }: Step): Promise<void> {
    const [hold] = this.open.splice(units % Math.max(this.open.length, 1), 1)
    if (hold === undefined) return
    const before = await this.heldParts(hold.requestId)
    const charge = Math.floor((hold.units * share) / 100)
    const keyId = keyOf(hold.accountId, 'plain')
    await this.proxy.settle(hold.accountId, hold.requestId, charge, hold.units, { keyId })
    let left = charge
    for (const pot of ['grt_a', 'grt_b', 'coin']) {
      const part = Math.min(left, before[pot] ?? 0)
      addTo(this.charged, hold.accountId, { [pot]: part })
      left -= part
    }
    addSpent(this.chargedBy, keyId, charge)
  }

  private async heldParts(requestId: string): Promise<Units> {
    const hold = (await listHolds(redis)).find((some) => some.requestId === requestId)
    const grants = (hold?.grants ?? []).map(({ grantId, units }) => [grantId, units] as const)
    return { coin: hold?.coinUnits ?? 0, ...Object.fromEntries(grants) }
  }

  async check(): Promise<void> {
    const taken = new Map([...this.charged].map(([accountId, pots]) => [accountId, { ...pots }]))
    const spent = new Map(this.chargedBy)
    for (const hold of await listHolds(redis)) {
      addTo(taken, hold.accountId, await this.heldParts(hold.requestId))
      addSpent(spent, hold.keyId, hold.holdUnits)
    }
    const out = new Map<string, Units>()
    for (const owner of this.owners) {
      const leases = await owner.leases(SHARD)
      for (const text of Object.values(leases)) addLease(text, out, spent)
      for (const [field, charges] of await owner.unsettled(SHARD)) {
        const { accountId, keys } =
          parseLeaseText(leases[field] ?? '') ?? assert.fail(`${field} is charged, and not out`)
        const charged = unsettledUnits(charges)
        addTo(taken, accountId, Object.fromEntries(Object.entries(charged).map(([pot, units]) => [pot, -units])))
        for (const keyId of keys.split('/')) addSpent(spent, keyId, -sumOf(charged))
      }
    }
    for (const accountId of this.accounts) {
      const state = await accountState(redis, accountId)
      const free: Units = { coin: state.coin, ...state.grants }
      const found = POTS.map(
        (pot) => (free[pot] ?? 0) + (out.get(accountId)?.[pot] ?? 0) + (taken.get(accountId)?.[pot] ?? 0),
      )
      assert.deepEqual(
        found,
        POTS.map((pot) => START[pot]),
      )
      assert.equal(state.out, sumOf(out.get(accountId) ?? {}))
      for (const kind of [...KINDS, 'platform', 'late'] as const) {
        const keyId = keyOf(accountId, kind)
        const { hour, life } = await spentBy(redis, accountId, keyId)
        assert.equal(life, spent.get(keyId) ?? 0, keyId)
        assert.ok(hour <= life, keyId)
      }
    }
  }
}

test('after any sequence of calls every unit is accounted for', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      await redis.flushall()
      const run = await Run.start()
      for (const next of steps) {
        await run.do(next)
        await run.check()
      }
    }),
    { numRuns: 25, includeErrorInReport: true },
  )
})
