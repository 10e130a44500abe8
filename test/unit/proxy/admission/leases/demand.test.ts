import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Demand } from '../../../../../proxy/admission/leases/demand.ts'

const STRETCH = 250

test('a key with occasional use needs no units in advance', () => {
  const demand = new Demand({ leaseDemandMs: STRETCH, leaseDemandRequests: 4 })
  for (let i = 0; i < 3; i++) demand.note(100, 1_000 + i)
  assert.deepEqual(demand.next(1_010), { units: 0, requests: 0 })
})

test('a key in steady use needs twice its use in the busier of the last two intervals', () => {
  const demand = new Demand({ leaseDemandMs: STRETCH, leaseDemandRequests: 4 })
  for (let i = 0; i < 8; i++) demand.note(100, 1_000 + i)
  assert.deepEqual(demand.next(1_010), { units: 1_600, requests: 16 })
  for (let i = 0; i < 4; i++) demand.note(10, 1_300 + i)
  assert.deepEqual(demand.next(1_310), { units: 1_600, requests: 16 })
})

test('use two intervals ago no longer counts', () => {
  const demand = new Demand({ leaseDemandMs: STRETCH, leaseDemandRequests: 4 })
  for (let i = 0; i < 8; i++) demand.note(100, 1_000 + i)
  assert.deepEqual(demand.next(1_000 + 2 * STRETCH), { units: 0, requests: 0 })
})
