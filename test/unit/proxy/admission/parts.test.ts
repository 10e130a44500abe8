import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UNITS_PER_USD } from '../../../../contract/money/units.ts'
import { chargeParts, grantsText, parseSplit, splitText } from '../../../../proxy/admission/parts.ts'

/** Coin at one US dollar. */
const coin = (units: number) => ({ coinUnits: units, coinNanos: units })

test('a split is read as it was written', () => {
  const cases = [
    { ...coin(0), grants: [] },
    { ...coin(5), grants: [] },
    { ...coin(0), grants: [{ grantId: 'a', units: 1 }] },
    {
      ...coin(5),
      grants: [
        { grantId: 'a', units: 1 },
        { grantId: 'b', units: 2 },
      ],
    },
  ]
  assert.deepEqual(cases.map(splitText), ['', 'coin=5', 'a=1', 'a=1,b=2,coin=5'])
  for (const parts of cases) assert.deepEqual(parseSplit(splitText(parts)), parts)
})

test('empty parts are omitted', () => {
  const grants = [
    { grantId: 'a', units: 0 },
    { grantId: 'b', units: 2 },
  ]
  assert.equal(grantsText(grants), 'b=2')
  assert.equal(splitText({ ...coin(3), grants: [{ grantId: 'a', units: 0 }] }), 'coin=3')
})

test('a charge takes grants in their order, then coin', () => {
  const held = {
    ...coin(10),
    grants: [
      { grantId: 'a', units: 3 },
      { grantId: 'b', units: 2 },
    ],
  }
  assert.deepEqual(chargeParts(held, 0, UNITS_PER_USD), { ...coin(0), grants: [] })
  assert.deepEqual(chargeParts(held, 4, UNITS_PER_USD), {
    ...coin(0),
    grants: [
      { grantId: 'a', units: 3 },
      { grantId: 'b', units: 1 },
    ],
  })
  assert.deepEqual(chargeParts(held, 15, UNITS_PER_USD), { ...coin(10), grants: [...held.grants] })
})

test('coin whose nanos differ from its units is written with both', () => {
  const parts = { coinUnits: 5, coinNanos: 3, grants: [{ grantId: 'a', units: 1 }] }
  assert.equal(splitText(parts), 'a=1,coin=5:3')
  assert.deepEqual(parseSplit('a=1,coin=5:3'), parts)
  assert.deepEqual(chargeParts(parts, 3, 2 * UNITS_PER_USD), { coinUnits: 2, coinNanos: 1, grants: [...parts.grants] })
})
