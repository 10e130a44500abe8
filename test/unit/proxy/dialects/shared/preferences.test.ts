import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPreferences } from '../../../../../proxy/dialects/shared/preferences.ts'

const price = { prompt: '1', completion: '2' }

test('registered providers may serve unless the request says otherwise', () => {
  for (const given of [
    undefined,
    null,
    {},
    { allow_registered: null },
    { allow_registered: true },
    { max_price: price },
  ]) {
    assert.equal(readPreferences(given).allowRegistered, true)
  }
  for (const given of [
    { allow_registered: false },
    { allow_registered: false, allow_retention: true, max_price: price },
  ]) {
    assert.equal(readPreferences(given).allowRegistered, false)
  }
})

for (const name of ['allow_retention', 'allow_registered']) {
  test(`a preference ${name} that is neither true nor false is refused with its field`, () => {
    for (const value of ['false', 0, [], {}]) {
      assert.throws(() => readPreferences({ [name]: value }), { row: 'invalid_request', param: `provider.${name}` })
    }
  })
}
