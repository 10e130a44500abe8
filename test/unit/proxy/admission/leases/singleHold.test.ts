import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endingText, parseRecord } from '../../../../../proxy/admission/journal/records.ts'
import { leasedEnding } from '../../../../../proxy/admission/leases/leasedEnding.ts'
import { isSingle, SingleHold } from '../../../../../proxy/admission/leases/singleHold.ts'

const HOUR_MS = 3_600_000
const origin = { requestId: 'req_1', shard: 7, accountId: 'acct_1', keyId: 'key_1', keys: 'key_1/key_0' }

test('a single hold is a separate lease, named for its request and the hour of its hold', () => {
  const hold = new SingleHold({ ...origin, heldAtMs: 498_718 * HOUR_MS + 5 })
  const { shard, accountId, keys, keyId } = origin
  assert.deepEqual(hold.name, { shard, accountId, keys, keyId, hour: 498_718, field: 'L:req_1:498718' })
  assert.ok(isSingle(hold.name.field))
  assert.ok(!isSingle('L:key_1:498718'))
})

test('its ending is read from the journal as it was written', () => {
  const hold = new SingleHold({ ...origin, heldAtMs: 498_718 * HOUR_MS + 5 })
  const ending = {
    requestId: 'req_1',
    seq: 3,
    voided: false,
    heldAtMs: 5,
    split: 'grt_1=2,coin=7',
    settlement: '\x0a|',
  }
  const record = parseRecord(endingText(hold.text, ending))
  assert.ok(record?.kind === 'ending')
  assert.deepEqual(leasedEnding(record), {
    lease: hold.name,
    charged: { coinUnits: 7, coinNanos: 7, grants: [{ grantId: 'grt_1', units: 2 }] },
    ...ending,
  })
})
