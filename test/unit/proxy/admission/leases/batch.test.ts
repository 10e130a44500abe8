import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { batchText, deliverArguments, type LeasedEnding } from '../../../../../proxy/admission/leases/batch.ts'
import { NO_PARTS } from '../../../../../proxy/admission/parts.ts'

/** Coin at one US dollar. */
const coin = (units: number) => ({ coinUnits: units, coinNanos: units })

const lease = (keyId: string) => ({
  shard: 3,
  accountId: 'acc_1',
  keys: `${keyId}/key_0`,
  keyId,
  hour: 5,
  field: `L:${keyId}:5`,
})

function ending(seq: number, more: Partial<LeasedEnding> = {}): LeasedEnding {
  const settlement = sluice.Settlement.encode({ requestId: `req_${seq}`, chargeUnits: seq * 1_000 }).finish()
  return {
    lease: lease('key_1'),
    requestId: `req_${seq}`,
    seq,
    voided: false,
    heldAtMs: 1_700_000_000_000 + seq,
    charged: { ...coin(seq * 1_000), grants: [] },
    split: `coin=${seq * 1_000}`,
    settlement: Buffer.from(settlement).toString('latin1'),
    ...more,
  }
}

test('the batch encoded by hand is readable by the generated code', () => {
  const endings = [ending(300), ending(301, { voided: true, split: '', charged: NO_PARTS })]
  const batch = sluice.EndingBatch.decode(Buffer.from(batchText('own_1', endings), 'latin1'))
  assert.equal(batch.owner, 'own_1')
  assert.equal(batch.from, 300)
  assert.deepEqual(
    batch.endings.map(({ settlement, voided, heldAtMs, split }) => [settlement?.requestId, voided, heldAtMs, split]),
    [
      ['req_300', false, 1_700_000_000_300, 'coin=300000'],
      ['req_301', true, 1_700_000_000_301, ''],
    ],
  )
})

test('charges and returns are summed by lease', () => {
  const { keys, args } = deliverArguments(
    [
      ending(1, { charged: { ...coin(4), grants: [{ grantId: 'g', units: 1 }] } }),
      ending(2, { charged: { ...coin(5), grants: [{ grantId: 'g', units: 2 }] } }),
      ending(3, { lease: lease('key_2'), charged: { ...coin(6), grants: [] } }),
    ],
    [{ lease: lease('key_1'), parts: { ...coin(7), grants: [{ grantId: 'h', units: 8 }] }, permits: '2,1000' }],
  )
  assert.equal(keys.length, 2)
  const first = ['L:key_1:5', 'acc_1', 'key_1/key_0', '9', 'g=3', '7', 'h=8', '2,1000']
  const second = ['L:key_2:5', 'acc_1', 'key_2/key_0', '6', '', '0', '', '']
  assert.deepEqual(args, [2, 0, ...first, ...second])
})

test('charges that Redis settles later are one text a lease, after all that are settled', () => {
  const free = lease('key_4')
  const charges = new Map([
    ['L:key_1:5', { ...coin(40), grants: [] }],
    ['L:key_2:5', { ...coin(36), grants: [{ grantId: 'g', units: 7 }] }],
    ['L:key_4:5', NO_PARTS],
  ])
  const { keys, args, unsettled, owing } = deliverArguments(
    [
      ending(1, { charged: { ...coin(4), grants: [] } }),
      ending(2, { lease: lease('key_2'), charged: { ...coin(6), grants: [] } }),
      ending(3, { lease: free, charged: NO_PARTS }),
    ],
    [{ lease: lease('key_1'), parts: NO_PARTS, permits: '-1,1000,5' }],
    (field) => charges.get(field) ?? assert.fail(field),
  )
  assert.equal(keys.length, 1)
  assert.deepEqual(args, [0, 1, '-1,1000,5', 'C:key_1:5', '40|', 'C:key_2:5', '36|g=7'])
  assert.deepEqual(owing, ['key_1'])
  assert.deepEqual([...unsettled], ['L:key_1:5', 'L:key_2:5', 'L:key_4:5'])
})
