// Each rule of the money path that the proxy asserts, broken by what Redis, a lease or a caller says: the request ends with a
// MoneyFault, nothing is charged, what is held stays held, and other requests go on.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MoneyFault, type MoneyRule } from '../../../contract/money/moneyFault.ts'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { accountKeys } from '../../../contract/wire/redisKeys.ts'
import { HoldCode } from '../../../contract/wire/scripts.ts'
import { payerPrincipal } from '../../../proxy/access/payerPrincipal.ts'
import type { Ending } from '../../../proxy/admission/ending.ts'
import { type Held, heldMoney, heldOf } from '../../../proxy/admission/held.ts'
import { Holds, type HoldWaiter } from '../../../proxy/admission/holds.ts'
import { KeyLeases } from '../../../proxy/admission/leases/keyLeases.ts'
import { Lease } from '../../../proxy/admission/leases/lease.ts'
import { type LeaseAsk, leaseAnswers } from '../../../proxy/admission/leases/leaseCall.ts'
import type { LeaseContext } from '../../../proxy/admission/leases/leaseContext.ts'
import { Leases, type LeasesOptions } from '../../../proxy/admission/leases/leases.ts'
import { OpenHold } from '../../../proxy/admission/leases/openHold.ts'
import { NO_PARTS } from '../../../proxy/admission/parts.ts'
import { StrayHolds } from '../../../proxy/admission/strayHolds.ts'
import { limits } from '../../support/limits.ts'
import { until } from '../../support/until.ts'

const NOW = 3_600_000
const principal = payerPrincipal('0x00000000000000000000000000000000000000aa')
const coin = (units: number) => ({ coinUnits: units, coinNanos: units, grants: [] })
const breaks = (rule: MoneyRule) => (error: unknown) => error instanceof MoneyFault && error.rule === rule

type Told = HoldWaiter & { readonly held: Held[]; readonly crashes: unknown[] }

function waiterOf(requestId: string, wantUnits: number): Told {
  const held: Held[] = []
  const crashes: unknown[] = []
  return {
    held,
    crashes,
    requestId,
    principal,
    wantUnits,
    leastUnits: wantUnits,
    coinUsdUnits: UNITS_PER_USD,
    holdMeta: 'm',
    onHeld: (one) => void held.push(one),
    onHoldRefused: assert.fail,
    onCrashed: (error) => void crashes.push(error),
  }
}

const newLease = () => new Lease({ shard: 0, accountId: principal.accountId, keys: principal.keyId, hour: 1 })

test('no more is held on a lease than it has free, and no more is taken off it than it has out', () => {
  const lease = newLease()
  lease.add({ ...coin(10), grants: [{ grantId: 'grt_1', expiresAtMs: 2 * NOW, units: 5 }] })
  assert.throws(() => newLease().hold(1, NOW, UNITS_PER_USD), breaks('lease_covers_hold'))
  assert.throws(() => newLease().hold(Number.NaN, NOW, UNITS_PER_USD), breaks('lease_covers_hold'))
  assert.throws(() => lease.takenOff(coin(11)), breaks('lease_covers_hold'))
  assert.throws(
    () => lease.takenOff({ ...NO_PARTS, grants: [{ grantId: 'grt_1', units: 6 }] }),
    breaks('lease_covers_hold'),
  )
  assert.deepEqual([lease.outUnits, lease.free(NOW, UNITS_PER_USD)], [15, 15])
  assert.equal(heldOf(lease.hold(15, NOW, UNITS_PER_USD), NOW).units, 15)
})

test('a lease whose parts differ from the hold opens nothing', () => {
  const lease = newLease()
  const context = { limits, mayUse: true, clock: { now: () => NOW }, isExact: () => false } as unknown as LeaseContext
  const shard = { want: () => undefined, opened: () => assert.fail('it was opened'), leaseOf: () => lease }
  const key = new KeyLeases(principal, shard, context)
  lease.hold = () => coin(6)
  key.take(waiterOf('req_1', 7), NOW)
  const [ask] = key.asks(NOW)
  assert.ok(ask)
  const answer = {
    code: HoldCode.OK,
    units: 7,
    retryMs: 0,
    permits: 1,
    ...coin(7),
    out: 7,
    permitsLeft: 0,
    mayRest: false,
  }
  assert.throws(() => key.answered(ask, answer, NOW), breaks('hold_is_its_parts'))
})

test('an answer of Redis that leases more than was asked for, or less than its grants, is not used', () => {
  const ask: LeaseAsk = {
    principal,
    waiting: 1,
    leastUnits: 5,
    wantUnits: 5,
    extraUnits: 2,
    extraPermits: 0,
    coinUsdUnits: UNITS_PER_USD,
  }
  const reply = (units: unknown, nanos: unknown, grants: string, code: number = HoldCode.OK) => {
    return [0, NOW, code, units, 0, 1, nanos, grants, 0, 0, 0]
  }
  assert.equal(leaseAnswers(reply(7, 4, `grt_1,${2 * NOW},3`), [ask])[0]?.coinUnits, 4)
  // After a refusal they are the units that were left.
  assert.equal(leaseAnswers(reply(800, 0, '', HoldCode.RATE), [ask])[0]?.units, 800)
  for (const [units, nanos] of [
    [8, 8],
    [-1, 0],
    ['', 'x'],
    ['x', 0],
  ])
    assert.throws(() => leaseAnswers(reply(units, nanos, ''), [ask]), MoneyFault)
  assert.throws(() => leaseAnswers(reply(2, 0, `grt_1,${2 * NOW},3`), [ask]), breaks('hold_is_its_parts'))
  assert.throws(() => leaseAnswers(reply(8, 8, ''), [ask]), breaks('grant_within_request'))
})

test('of holds that Redis grants in one call, only the one that breaks a rule ends', async () => {
  const replies: [units: number, split: string, rule: MoneyRule | null][] = [
    [7, 'coin=7', null],
    [8, 'coin=8', 'grant_within_request'],
    [6, 'coin=6', 'grant_within_request'],
    [7, 'coin=6', 'hold_is_its_parts'],
    [7, 'grt_1=3,coin=4', null],
    [7, '', 'hold_is_its_parts'],
  ]
  const faults: unknown[] = []
  const holds = new Holds({
    script: () => {
      const items = replies.flatMap(([units]) => [HoldCode.OK, units, 0])
      return Promise.resolve([NOW, ...items, ...replies.map(([, split]) => split)])
    },
    schedule: (work) => void setImmediate(work),
    owner: 'own_1',
    limits,
    connected: () => true,
    perShard: false,
    recall: () => undefined,
    onFault: (error) => void faults.push(error),
  })
  const waiters = replies.map((_, i) => waiterOf(`req_${i}`, 7))
  for (const waiter of waiters) holds.take(waiter)
  await until('all are called back', () => waiters.every(({ held, crashes }) => held.length + crashes.length > 0))
  for (const [i, [, , rule]] of replies.entries()) {
    const { held = [], crashes = [] } = waiters[i] ?? {}
    assert.equal(held.length, rule === null ? 1 : 0, `${i}`)
    if (rule !== null) assert.ok(crashes.every(breaks(rule)) && crashes.length === 1, `${i}`)
  }
  assert.equal(faults.length, 4)
})

test('a charge beyond its hold leaves the hold as it is, in units and in coin', () => {
  let releases = 0
  const lease = { name: newLease().name, text: '', release: () => void releases++ }
  const held = { ...heldOf({ coinUnits: 10, coinNanos: 5, grants: [] }, NOW) }
  const hold = new OpenHold({ ...waiterOf('req_1', 10), coinUsdUnits: 2 * UNITS_PER_USD }, lease, held, () =>
    assert.fail('it was refused'),
  )
  assert.throws(() => hold.end(1, 11, ''), breaks('charge_within_hold'))
  const short = new OpenHold(waiterOf('req_1', 10), lease, held, () => assert.fail('it was refused'))
  assert.throws(() => short.end(1, 10, ''), breaks('charge_within_hold'))
  assert.equal(releases, 0)
  assert.deepEqual(hold.end(1, 10, '').charged, { coinUnits: 10, coinNanos: 5, grants: [] })
  assert.equal(releases, 1)
})

test('a request whose charge breaks a rule stays held, and its next ending is taken', async () => {
  let written = 0
  const journal = { accepts: true, append: () => ({ noteEnding: () => void written++ }) }
  const faults: unknown[] = []
  const options = {
    owner: 'own_1',
    limits,
    journal,
    connected: () => false,
    onFault: (error: unknown) => void faults.push(error),
    strays: { end: (ending: Ending) => faults.push(ending.requestId) },
  }
  const leases = new Leases(options as unknown as LeasesOptions)
  const waiter = waiterOf('req_1', 7)
  leases.singly({ take: (one) => one.onHeld(heldMoney(7, NOW)) }).take(waiter)
  assert.equal(waiter.held.length, 1)
  const { accountId, keyId, shard } = principal
  const end = (chargeUnits: number) => {
    const ending = { requestId: 'req_1', owner: 'own_1', accountId, keyId, shard, chargeUnits, settlement: '' }
    leases.end(ending, accountKeys(shard, accountId, keyId), null)
  }
  assert.throws(() => end(8), breaks('charge_within_hold'))
  assert.deepEqual([leases.asked('req_1'), leases.counts.undelivered, written], ['open', 0, 0])
  end(7)
  assert.deepEqual([leases.asked('req_1'), leases.counts.undelivered, written], ['ended', 1, 1])
  assert.equal(leases.asked('req_2'), 'unknown')
  // The second ending of a request finds no hold.
  end(7)
  assert.deepEqual([faults, leases.counts.undelivered], [['req_1'], 1])
  await leases.stop(0)
})

const strays: StrayHolds[] = []
after(() => {
  for (const one of strays) one.stop()
})

test('a charge without a hold is reported and never sent', () => {
  const faults: unknown[] = []
  const all = new StrayHolds({
    script: () => assert.fail('a charge was sent'),
    limits,
    perShard: false,
    connected: () => true,
    onFault: (error) => void faults.push(error),
  })
  strays.push(all)
  const ending = { requestId: 'req_1', owner: 'own_1', accountId: 'acct_1', keyId: 'key_1', shard: 0, settlement: '' }
  all.end({ ...ending, chargeUnits: 5 }, accountKeys(0, 'acct_1', 'key_1'), null)
  assert.deepEqual([faults.length, faults.every(breaks('charged_once')), all.size], [1, true, 0])
})
