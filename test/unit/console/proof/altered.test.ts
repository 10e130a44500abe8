// Goal: one byte of a receipt is changed, no more. Method: texts of receipts, compared byte by byte.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alteredReceipt } from '../../../../console/proof/altered.ts'

test('one digit of the charge is another one', () => {
  for (const units of ['0', '17550', '1999']) {
    const text = `{"hold":{"units":"99"},"cost":{"units":"${units}","usd":"x"}}`
    const changed = alteredReceipt(text).text
    const differing = [...text].filter((character, place) => character !== changed[place])
    assert.equal(changed.length, text.length)
    assert.equal(differing.length, 1)
  }
})
