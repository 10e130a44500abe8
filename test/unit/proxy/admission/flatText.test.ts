import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flatText } from '../../../../proxy/admission/flatText.ts'

test('the text is unchanged', () => {
  for (const text of ['', '12', ' 7 ', 'a\x00\xff', 'x'.repeat(1_000) + String(5)]) assert.equal(flatText(text), text)
})
