// The life of a hold by itself: what is asked of an agent's policy, of the holds and of the ledger, and what the
// listener hears of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import type { AgentPolicy } from '../../../../../proxy/access/principal.ts'
import { heldMoney } from '../../../../../proxy/admission/held.ts'
import { HoldLife, type HoldListener } from '../../../../../proxy/endpoints/run/holdLife.ts'
import type { Phase } from '../../../../../proxy/endpoints/run/phase.ts'
import { RecordedExchange } from '../../../../support/parts/recordedExchange.ts'
import { metered, RunWorld, testPrincipal } from '../../../../support/parts/runWorld.ts'

const POLICY: AgentPolicy = { requestCapUnits: null, approvalThresholdUnits: 100 }

class Told implements HoldListener {
  readonly calls: string[] = []
  readonly crashes: unknown[] = []
  onHeld = (): void => void this.calls.push('held')
  onHoldRefused = (error: GatewayError): void => void this.calls.push(`refused ${error.row}`)
  onHoldSpared = (): void => void this.calls.push('spared')
  onSettled = (units: number): void => void this.calls.push(`settled ${units}`)
  onSettleDelayed = (): void => void this.calls.push('delayed')
  onCrashed = (error: unknown): void => void this.crashes.push(error)
}

function lifeOf(agent: AgentPolicy | null = null, phase: { now: Phase } = { now: 'admitting' }) {
  const world = new RunWorld()
  const exchange = new RecordedExchange()
  const told = new Told()
  const { services } = world
  const principal = testPrincipal(agent)
  const run = {
    exchange,
    principal,
    metered,
    services,
    get phase() {
      return phase.now
    },
    enter: () => assert.fail('a hold does not decide how far its request is'),
  }
  return { world, exchange, told, life: new HoldLife(run, told) }
}

test('a hold is requested with the data that control needs if the process dies, and granted', () => {
  const { world, told, life } = lifeOf()
  life.take()
  assert.equal(world.hold, life)
  assert.deepEqual([life.wantUnits, life.leastUnits, life.holdMeta], [1_000, 1_000, 'test/model,rerank,3,0'])
  life.onHeld(heldMoney(900, 123))
  assert.deepEqual([life.heldUnits, life.heldAtMs, told.calls], [900, 123, ['held']])
})

test('its ending names its owner; an ending for another possible owner has no waiter', () => {
  const { world, told, life } = lifeOf()
  life.end({ chargeUnits: 7, settlement: 's' })
  life.endAs('batches', { chargeUnits: -1, settlement: 's' })
  const [first, second] = world.endings
  const { accountId, keyId, shard } = life.principal
  const common = { requestId: 'req_1', accountId, keyId, shard, settlement: 's' }
  assert.deepEqual(first?.ending, { ...common, owner: 'own_1', chargeUnits: 7 })
  assert.deepEqual([second?.ending, second?.waiter], [{ ...common, owner: 'batches', chargeUnits: -1 }, null])
  first?.waiter?.onSettled(6)
  first?.waiter?.onSettleDelayed()
  assert.deepEqual(told.calls, ['settled 6', 'delayed'])
})

test("an agent's request holds the amount that its policy allows, under the approval that it used", async () => {
  const { world, life } = lifeOf(POLICY)
  world.passes = () => ({ wantUnits: 300, approvalId: 'apr_1' })
  life.take()
  assert.equal(world.holds.length, 0)
  await nextTurn()
  assert.deepEqual([world.holds.length, life.wantUnits, life.approvalId], [1, 300, 'apr_1'])
  life.release()
  life.release()
  assert.deepEqual(world.released, ['apr_1'])
})

test('a request that the policy rejects takes no hold', async () => {
  const { world, told, life } = lifeOf(POLICY)
  world.passes = () => Promise.reject(new GatewayError('request_cap_exceeded'))
  life.take()
  await nextTurn()
  assert.deepEqual([told.calls, world.holds.length], [['refused request_cap_exceeded'], 0])
})

test('a fault in the policy check is logged, and rejects the request', async () => {
  const { world, told, life } = lifeOf(POLICY)
  world.passes = () => Promise.reject(new Error('no policy'))
  life.take()
  await nextTurn()
  assert.deepEqual([told.calls, world.crashes.length], [['refused internal_error'], 1])
})

test('a client that disconnects during the approval check leaves no hold', async () => {
  const { world, exchange, told, life } = lifeOf(POLICY)
  world.passes = () => ({ wantUnits: 300, approvalId: 'apr_1' })
  life.take()
  exchange.leave()
  await nextTurn()
  assert.deepEqual([told.calls, world.released, world.holds.length], [['spared'], ['apr_1'], 0])
})

const LATE: [answer: string, passes: RunWorld['passes']][] = [
  ['allowed', () => ({ wantUnits: 1, approvalId: '' })],
  ['refused', () => Promise.reject(new GatewayError('request_cap_exceeded'))],
]
for (const [answer, passes] of LATE) {
  test(`a request that has ended before it is ${answer} takes no hold`, async () => {
    const phase: { now: Phase } = { now: 'admitting' }
    const { world, told, life } = lifeOf(POLICY, phase)
    world.passes = passes
    life.take()
    phase.now = 'ending'
    await nextTurn()
    assert.deepEqual([told.calls, world.holds.length], [['spared'], 0])
  })
}

test('a listener that throws on the rejection of an agent is notified of its own fault', async () => {
  const { world, told, life } = lifeOf(POLICY)
  world.passes = () => Promise.reject(new GatewayError('request_cap_exceeded'))
  told.onHoldRefused = () => {
    throw new Error('failed')
  }
  life.take()
  await nextTurn()
  assert.deepEqual(told.crashes.map(String), ['Error: failed'])
})
