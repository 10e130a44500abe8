import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseHold } from '../../../../control/admission/holdRecord.ts'

test('a hold is read back with its parts and the data of its receipt', () => {
  const text = '100|1700000000000|acct_1|key_1|472222|19675|646|60|grt_1=25,grt_2=15|acme/chat-small,chat,7,1'
  const hold = parseHold(5, 'own_1', 'req_1', text)
  assert.deepEqual(
    [hold?.holdUnits, hold?.coinUnits, hold?.model, hold?.endpoint, hold?.sheetVersion, hold?.streamed],
    [100, 60, 'acme/chat-small', 'chat', 7, true],
  )
  assert.deepEqual(hold?.grants, [
    { grantId: 'grt_1', units: 25 },
    { grantId: 'grt_2', units: 15 },
  ])
  assert.equal(parseHold(5, 'own_1', 'req_1', 'rubbish'), undefined)
})
