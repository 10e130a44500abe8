import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeHoldMeta, encodeHoldMeta, type HoldMeta } from '../../../../contract/wire/holdMeta.ts'
import { parseHold } from '../../../../control/admission/holdRecord.ts'

const meta: fc.Arbitrary<HoldMeta> = fc.record(
  {
    model: fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(',', '|', '/', ':', '=', '0', '1', ' ', '\n', 'é') }),
    ),
    endpoint: fc.constantFrom('chat', 'images', 'tools', ''),
    sheetVersion: fc.nat(),
    streamed: fc.boolean(),
  },
  { noNullPrototype: true },
)

test('the request data of a hold is read as it was written, for any model name', () => {
  fc.assert(
    fc.property(meta, (wanted) => {
      assert.deepEqual(decodeHoldMeta(encodeHoldMeta(wanted)), wanted)
    }),
  )
})

test('a hold is read with a model whose name has the separators of holds', () => {
  fc.assert(
    fc.property(meta, (wanted) => {
      const text = `5|1700000000000|acct_1|key_1|1|2|3|4||${encodeHoldMeta(wanted)}`
      const { model, endpoint, sheetVersion, streamed, holdUnits } =
        parseHold(0, 'own_1', 'req_1', text) ?? assert.fail()
      assert.deepEqual({ model, endpoint, sheetVersion, streamed, holdUnits }, { ...wanted, holdUnits: 5 })
    }),
  )
})

test('a text of another form is read as a model name', () => {
  for (const text of ['', 'm', 'm,chat', 'm,chat,1']) {
    assert.deepEqual(decodeHoldMeta(text), { model: text, endpoint: '', sheetVersion: 0, streamed: false })
  }
})
