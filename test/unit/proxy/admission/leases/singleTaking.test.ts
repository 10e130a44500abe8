import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GatewayError } from '../../../../../contract/errors/errors.ts'
import { UNITS_PER_USD } from '../../../../../contract/money/units.ts'
import { payerPrincipal } from '../../../../../proxy/access/payerPrincipal.ts'
import { heldOf } from '../../../../../proxy/admission/held.ts'
import type { HoldWaiter } from '../../../../../proxy/admission/holds.ts'
import type { Journal } from '../../../../../proxy/admission/journal/journal.ts'
import { Leases, type LeasesOptions } from '../../../../../proxy/admission/leases/leases.ts'
import { SingleTaking, withoutCharge } from '../../../../../proxy/admission/leases/singleTaking.ts'
import { parseSplit } from '../../../../../proxy/admission/parts.ts'
import { limits } from '../../../../support/limits.ts'
import { until } from '../../../../support/until.ts'

const principal = payerPrincipal('0x00000000000000000000000000000000000000aa')

function waiterOf(): HoldWaiter & { readonly told: string[] } {
  const told: string[] = []
  return {
    told,
    requestId: 'req_1',
    principal,
    wantUnits: 7,
    leastUnits: 7,
    coinUsdUnits: UNITS_PER_USD,
    holdMeta: 'm',
    onHeld: (held) => void told.push(`held ${held.units} at ${held.heldAtMs}`),
    onHoldRefused: (error: GatewayError) => void told.push(`${error.status} ${error.row}`),
    onCrashed: () => void told.push('crashed'),
  }
}

test('a hold is recorded with its parts before its request is notified', () => {
  const waiter = waiterOf()
  const noted: unknown[] = []
  const taking = new SingleTaking(waiter, (single, held) => {
    assert.deepEqual(waiter.told, [])
    noted.push(single.name.field, single.name.keys, held)
  })
  const held = heldOf(parseSplit('grt_1=3,coin=4'), 3_600_000)
  assert.deepEqual([held.units, held.creditUnits, held.lockUnits], [7, 3, 0])
  taking.onHeld(held)
  assert.deepEqual(noted, ['L:req_1:1', principal.keyId, held])
  assert.deepEqual(waiter.told, ['held 7 at 3600000'])
})

test('while the journal rejects writes no hold is taken, and no payment is requested: 503', async () => {
  const options = {
    owner: 'own_1',
    limits,
    journal: { accepts: false } as Journal,
    connected: () => false,
    onFault: assert.fail,
  } as unknown as LeasesOptions
  const leases = new Leases(options)
  const waiter = waiterOf()
  leases.singly({ take: () => assert.fail('a hold was asked for') }).take(waiter)
  await until('it is refused', () => waiter.told.length > 0)
  assert.deepEqual(waiter.told, ['503 admission_unavailable'])
  await leases.stop(0)
})

test('a charge that control may have voided is not shown to its request', () => {
  const told: string[] = []
  const waiter = withoutCharge({
    onSettled: () => void told.push('settled'),
    onSettleDelayed: () => void told.push('delayed'),
    onCrashed: () => void told.push('crashed'),
  })
  waiter.onSettled(5)
  waiter.onSettleDelayed()
  assert.deepEqual(told, ['delayed', 'delayed'])
})
