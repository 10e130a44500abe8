import assert from 'node:assert/strict'
import test from 'node:test'
import { type EndedPaid, isRefundedWhole, settlementFee } from '../../../../contract/money/settlementFee.ts'

const ENDED: EndedPaid = { units: 500, minUnits: 100, costUnits: 30, status: 'ok', errorCode: null }

test('the fee is the difference between the cost and the smallest charge', () => {
  assert.equal(settlementFee(ENDED), 70)
  assert.equal(settlementFee({ ...ENDED, costUnits: 0 }), 100)
  assert.equal(settlementFee({ ...ENDED, costUnits: 100 }), 0)
  assert.equal(settlementFee({ ...ENDED, costUnits: 400 }), 0)
  assert.equal(settlementFee({ ...ENDED, minUnits: 0 }), 0)
  assert.equal(settlementFee({ ...ENDED, status: 'partial', errorCode: 'upstream_timeout' }), 70)
})

test('a failure of gateway or provider is refunded in full; a request ended by the client is not', () => {
  const failed = { ...ENDED, costUnits: 0, status: 'failed' } as const
  for (const errorCode of [
    'upstream_unavailable',
    'upstream_timeout',
    'gateway_restarting',
    'settlement_unconfirmed',
  ]) {
    assert.equal(settlementFee({ ...failed, errorCode }), 0, errorCode)
    assert.equal(isRefundedWhole({ ...failed, errorCode }), true, errorCode)
  }
  for (const errorCode of ['client_gone', 'upstream_rejected', 'context_length_exceeded']) {
    assert.equal(settlementFee({ ...failed, errorCode }), 100, errorCode)
    assert.equal(isRefundedWhole({ ...failed, errorCode }), false, errorCode)
  }
})
