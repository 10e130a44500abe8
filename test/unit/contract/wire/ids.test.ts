import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import fc from 'fast-check'
import { hashSecret, isId, newId, newSecret } from '../../../../contract/wire/ids.ts'

test('ids have their format and are all different', () => {
  const ids = Array.from({ length: 20_000 }, () => newId('req'))
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^req_[0-9A-HJKMNP-TV-Z]{26}$/)
})

test('ids sort by time', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), fc.integer({ min: 0, max: 2 ** 48 - 1 }), (a, b) => {
      fc.pre(a !== b)
      assert.equal(newId('req', a) < newId('req', b), a < b)
    }),
  )
})

test('ids of one process sort in the order in which they are made, whatever the clock does', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
  const ids = Array.from({ length: 40 }, () => newId('evt'))
  newId('evt', 1_700_000_000_000)
  ids.push(newId('evt'))
  t.mock.timers.setTime(1_799_999_999_000)
  ids.push(newId('evt'), newId('evt'))
  t.mock.timers.setTime(1_800_000_000_001)
  // More than the 20 bits that count within a millisecond.
  for (let i = 0; i < 2 ** 20 + 2; i++) ids.push(newId('evt'))
  assert.ok(ids.every((id, i) => i === 0 || id > (ids[i - 1] ?? '')))
  assert.ok(ids.every((id) => isId('evt', id)))
})

test('the time is the first ten characters of a ULID', () => {
  // The example of the ULID specification.
  assert.equal(newId('req', 1_469_918_176_385).slice(4, 14), '01ARYZ6S41')
})

test('ids are distinguished from other texts', () => {
  const id = newId('acct')
  assert.ok(isId('acct', id))
  for (const text of [
    '',
    'acct_',
    id.slice(1),
    `${id}0`,
    id.replace('acct', 'key'),
    `${id.slice(0, -1)}U`,
    `${id}\n`,
  ]) {
    assert.equal(isId('acct', text), false, JSON.stringify(text))
  }
})

test('secrets are long, different and of letters and digits', () => {
  const secrets = Array.from({ length: 2_000 }, () => newSecret('sk'))
  assert.equal(new Set(secrets).size, secrets.length)
  for (const secret of secrets) assert.match(secret, /^sk_[0-9A-Za-z]{43}$/)
})

test('a secret is stored as its SHA-256', () => {
  const secret = newSecret('sk')
  assert.equal(hashSecret(secret), createHash('sha256').update(secret).digest('base64url'))
})
