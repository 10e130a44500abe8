import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UNITS_PER_USD } from '../../../../../contract/money/units.ts'
import { capCode } from '../../../../../contract/wire/caps.ts'
import { HoldCode } from '../../../../../contract/wire/scripts.ts'
import { payerPrincipal } from '../../../../../proxy/access/payerPrincipal.ts'
import type { HoldWaiter } from '../../../../../proxy/admission/holds.ts'
import { Lease } from '../../../../../proxy/admission/leases/lease.ts'
import type { LeaseAnswer } from '../../../../../proxy/admission/leases/leaseCall.ts'
import { LockQueue } from '../../../../../proxy/admission/leases/lockQueue.ts'
import { ReservedTokens } from '../../../../../proxy/admission/leases/reservedTokens.ts'
import { NO_PARTS } from '../../../../../proxy/admission/parts.ts'

const NOW = 3_600_000
const SERIES = 'lock_1'
const principal = payerPrincipal('0x00000000000000000000000000000000000000aa')

interface Told extends HoldWaiter {
  readonly told: unknown[]
}

function waiterOf(wantUnits: number): Told {
  const told: unknown[] = []
  const rest = (units: number) => ({ wantUnits: 2 * (wantUnits - units), leastUnits: wantUnits - units })
  return {
    told,
    requestId: 'req_1',
    principal,
    wantUnits: 2 * wantUnits,
    leastUnits: wantUnits,
    coinUsdUnits: UNITS_PER_USD,
    holdMeta: '',
    lock: { seriesId: SERIES, microUnits: 10, wantUnits, rest },
    onHeld: (held) => void told.push(['held', held.units, held.lockUnits]),
    onHoldRefused: (error) => void told.push(error.row),
    onCrashed: (error) => void told.push(error),
  }
}

/** A queue, and the requests that it has passed on: the tokens that each has, and the units that it still wants. */
function queueOf() {
  const rests: number[][] = []
  let wanted = 0
  const queue = new LockQueue({
    holdRest: (waiter, tokens) => void rests.push([tokens?.units ?? 0, (tokens ?? waiter).wantUnits]),
    wantLocks: () => void wanted++,
  })
  const take = (waiter: Told, lease?: Lease) => {
    assert.ok(waiter.lock)
    queue.take(waiter, waiter.lock, lease, NOW)
  }
  return { queue, rests, take, wanted: () => wanted }
}

const wantsOf = (queue: LockQueue, lease: Lease): number[] =>
  queue.asks(principal, UNITS_PER_USD, lease, NOW).map((one) => one.wantUnits)

const newLease = () => new Lease({ shard: 0, accountId: 'acct_1', keys: 'key_1', hour: 1 })

const answerOf = (units: number, code: number = HoldCode.OK): LeaseAnswer => ({
  code,
  units,
  retryMs: 0,
  permits: 0,
  coinUnits: 0,
  coinNanos: 0,
  grants: units > 0 ? [{ grantId: SERIES, expiresAtMs: 2 * NOW, units }] : [],
  out: 0,
  permitsLeft: 0,
  mayRest: false,
})

test('waiting requests are combined into one call, and served in order of arrival', () => {
  const { queue, rests, take, wanted } = queueOf()
  for (const units of [100, 50, 70]) take(waiterOf(units))
  assert.equal(wanted(), 3)
  const [ask, ...others] = queue.asks(principal, UNITS_PER_USD, undefined, NOW)
  assert.deepEqual([ask?.wantUnits, ask?.leastUnits, ask?.waiting, others.length], [220, 0, 0, 0])
  // One that comes later waits for the next answer.
  take(waiterOf(10))
  queue.answered(SERIES, 220, answerOf(130), newLease(), NOW)
  assert.deepEqual(rests, [
    [100, 0],
    [30, 40],
    [0, 140],
  ])
  assert.equal(queue.isWaiting, true)
  assert.deepEqual(
    queue.asks(principal, UNITS_PER_USD, undefined, NOW).map((one) => one.wantUnits),
    [10],
  )
  queue.answered(SERIES, 10, answerOf(0, capCode({ span: 'life', isPlatforms: false })), undefined, NOW)
  assert.deepEqual(rests.slice(3), [[0, 20]])
  assert.equal(queue.isWaiting, false)
})

test('tokens that are no longer on the lease when Redis answers are asked for once more', () => {
  for (const [left, ask] of [
    [60, 40],
    [100, 0],
  ] as const) {
    const { queue, rests, take } = queueOf()
    const lease = newLease()
    lease.addLock({ grantId: SERIES, expiresAtMs: 2 * NOW, units: left })
    take(waiterOf(100), left < 100 ? lease : undefined)
    assert.deepEqual(wantsOf(queue, lease), [ask])
    const next = newLease()
    queue.answered(SERIES, ask, answerOf(ask), next, NOW)
    assert.deepEqual([rests, wantsOf(queue, next)], [[], [100 - ask]])
    queue.answered(SERIES, 100 - ask, answerOf(100 - ask), next, NOW)
    assert.deepEqual([rests, queue.isWaiting], [[[100, 0]], false])
  }
})

test('free tokens of a lease are taken immediately, unless they have expired', () => {
  const { rests, take, wanted } = queueOf()
  const lease = newLease()
  lease.addLock({ grantId: SERIES, expiresAtMs: 2 * NOW, units: 100 })
  take(waiterOf(100), lease)
  assert.deepEqual([rests, wanted()], [[[100, 0]], 0])
  const late = newLease()
  late.addLock({ grantId: SERIES, expiresAtMs: NOW, units: 100 })
  take(waiterOf(100), late)
  assert.deepEqual([rests.length, wanted()], [1, 1])
})

test('a rejected rest frees its tokens, a held one does not, and tokens returned to Redis are not freed twice', () => {
  const lease = newLease()
  lease.addLock({ grantId: SERIES, expiresAtMs: 2 * NOW, units: 300 })
  const reserved = () => {
    const { lock } = waiterOf(100)
    assert.ok(lock)
    return new ReservedTokens(lock, lease, 100)
  }
  const [first, second, third] = [reserved(), reserved(), reserved()]
  assert.equal(lease.locks.unitsOf(SERIES, NOW), 0)
  first.giveBack()
  assert.equal(lease.locks.unitsOf(SERIES, NOW), 100)
  assert.deepEqual(second.holdWith(NO_PARTS).grants, [{ grantId: SERIES, units: 100 }])
  second.giveBack()
  assert.equal(lease.locks.unitsOf(SERIES, NOW), 100)
  lease.reconcile(NO_PARTS, NO_PARTS)
  assert.deepEqual([third.isOn(lease), first.isOn(newLease())], [false, false])
  third.giveBack()
  assert.equal(lease.locks.unitsOf(SERIES, NOW), 0)
})
