import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseGrants } from '../../../../contract/wire/grantParts.ts'
import { grantsText } from '../../../../proxy/admission/parts.ts'

test('parts of grants read back as they were written', () => {
  const several = [
    { grantId: 'grt_1', units: 3 },
    { grantId: 'lock_2', units: Number.MAX_SAFE_INTEGER },
  ]
  for (const grants of [[], several.slice(0, 1), several]) assert.deepEqual(parseGrants(grantsText(grants)), grants)
})

test('parts of grants are read in the form that the scripts write', () => {
  assert.deepEqual(parseGrants(''), [])
  assert.deepEqual(parseGrants('a=1,b=20'), [
    { grantId: 'a', units: 1 },
    { grantId: 'b', units: 20 },
  ])
})
