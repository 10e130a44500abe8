// Goal: providers learn nothing from the ids that they are sent, and the operator can get from each to its request.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import fc from 'fast-check'
import { AttemptIds } from '../../../../contract/wire/attemptIds.ts'
import { newId } from '../../../../contract/wire/ids.ts'

const LAST_MS = 2 ** 42 - 1
const [OLD, NEW] = [randomBytes(32), randomBytes(32)]

test('an id is read back to its request and number, whatever they are', () => {
  const ids = new AttemptIds([NEW])
  fc.assert(
    fc.property(fc.integer({ min: 0, max: LAST_MS }), fc.nat(1_000), (ms, number) => {
      const requestId = newId('req', ms)
      const id = ids.of(requestId, number)
      assert.match(id, /^try_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
      assert.deepEqual(ids.read(id), [{ requestId, number: number % 64 }])
    }),
  )
})

test('attempts of one request and of neighbours have nothing in common, and none is the id of a request', () => {
  const ids = new AttemptIds([NEW])
  const requestIds = Array.from({ length: 200 }, () => newId('req'))
  const made = requestIds.flatMap((requestId) => Array.from({ length: 64 }, (_, number) => ids.of(requestId, number)))
  assert.equal(new Set(made).size, made.length)
  const bodies = made.map((id) => id.slice('try_'.length))
  for (const requestId of requestIds) assert.ok(!bodies.includes(requestId.slice('req_'.length)))
  // Request ids of one moment have their first 10 digits in common; those of their attempts are spread like random ones.
  const starts = new Set(bodies.map((body) => body.slice(0, 5)))
  assert.ok(starts.size > made.length * 0.97, `${starts.size} beginnings of ${made.length}`)
})

test('an id is read after its key was replaced, as long as the key is known', () => {
  const requestId = newId('req')
  const id = new AttemptIds([OLD]).of(requestId, 2)
  const rotated = new AttemptIds([NEW, OLD])
  assert.ok(rotated.all(requestId, 2).includes(id))
  assert.deepEqual(rotated.read(id)[1], { requestId, number: 2 })
  assert.notEqual(rotated.of(requestId, 2), id)
  assert.notEqual(new AttemptIds([NEW]).read(id)[0]?.requestId, requestId)
})

test('what is no id is read as none', () => {
  for (const text of ['', 'try_', newId('req'), 'try_8ZZZZZZZZZZZZZZZZZZZZZZZZZ', 'try_0123456789abcdefghjkmnpqrs']) {
    assert.deepEqual(new AttemptIds([NEW]).read(text), [])
  }
})
