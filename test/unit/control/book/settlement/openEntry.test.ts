import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { entriesOf, inParts, openEntry, parseEntries } from '../../../../../control/book/settlement/openEntry.ts'
import { batchOf, endedOf } from '../../../../support/parts/endings.ts'
import { itemOf } from '../../../../support/present.ts'

const rawOf = (...fields: (string | Buffer)[]) => ({
  shard: 3,
  id: '5-0',
  fields: fields.map((field) => Buffer.from(field)),
})
const batch = (from: number, endings: Uint8Array[], owner = 'own_1') => rawOf('b', batchOf(owner, from, endings))

test('every ending of a batch is read, with its number', () => {
  const endings = [
    endedOf({ accountId: 'acct_1', charge: 70, split: 'grt_1=30,coin=40' }),
    endedOf({ accountId: 'acct_1', charge: -1 }),
  ]
  const opened = openEntry(batch(8, endings))
  assert.equal(opened.size, 2)
  const [charged, voided] = entriesOf(opened)
  assert.deepEqual([charged?.delivered?.owner, charged?.delivered?.seq, voided?.delivered?.seq], ['own_1', 8, 9])
  assert.ok(charged?.kind === 'ended' && voided?.kind === 'ended')
  assert.deepEqual(charged.parts, [
    { ledgerAccount: 'grant:grt_1', units: 30, amount: 30 },
    { ledgerAccount: 'coin:acct_1', units: 40, amount: 40 },
  ])
  assert.deepEqual([charged.receipt.chargeUnits, charged.receipt.voided], [70, false])
  assert.deepEqual([voided.receipt.chargeUnits, voided.receipt.voided, voided.receipt.status], [0, true, 'failed'])
})

test('an unreadable ending does not affect the others of its batch', () => {
  const good = () => endedOf({ accountId: 'acct_1', charge: 5 })
  const bad: [Uint8Array, RegExp][] = [
    [Buffer.from([0x0a, 0x7f]), /./],
    [Buffer.alloc(0), /no settlement/],
    [endedOf({ accountId: 'acct_1', charge: 5, split: 'coin=4' }), /split is 4/],
    [endedOf({ accountId: '', charge: 5 }), /account_id is empty/],
    [endedOf({ accountId: 'acct_1', charge: 5, settlement: { holdUnits: 4 } }), /charged 5 of 4 held/],
    [endedOf({ accountId: 'acct_1', charge: -1, split: 'coin=1' }), /split is 1/],
  ]
  const parsed = entriesOf(openEntry(batch(1, [good(), ...bad.map(([bytes]) => bytes), good()])))
  assert.deepEqual(
    parsed.map((entry) => entry.kind),
    ['ended', ...bad.map(() => 'malformed'), 'ended'],
  )
  for (const [i, [bytes, reason]] of bad.entries()) {
    const entry = parsed[i + 1]
    assert.ok(entry?.kind === 'malformed')
    assert.match(entry.reason, reason)
    assert.deepEqual(Buffer.from(entry.delivered?.bytes ?? []), Buffer.from(bytes))
  }
})

test('a batch that cannot be split is malformed as a whole', () => {
  const ending = endedOf({ accountId: 'acct_1', charge: 5 })
  const broken = [
    rawOf('b', Buffer.from([0x1a, 0x7f, 1])),
    rawOf('b', ''),
    batch(0, [ending]),
    batch(1, [ending], ''),
    batch(1, [ending], 'a\nb'),
    batch(1, []),
    batch(Number.MAX_SAFE_INTEGER, [ending]),
  ]
  for (const raw of broken) {
    const [entry, ...more] = entriesOf(openEntry(raw))
    assert.equal(entry?.kind, 'malformed')
    assert.equal(entry?.delivered, undefined)
    assert.equal(more.length, 0)
  }
})

test('an entry with one item has size one, a deleted entry size zero', () => {
  assert.equal(openEntry({ shard: 0, id: '1-0', fields: null }).size, 0)
  assert.deepEqual(parseEntries([{ shard: 0, id: '1-0', fields: null }]), [])
  const [expired] = parseEntries([rawOf('x', 'grt_1', 'a', 'acct_1', 'c', '5')])
  assert.deepEqual([expired?.kind, expired?.delivered], ['expired', undefined])
})

test('no bytes make reading a batch throw', () => {
  const bytes = fc.uint8Array({ maxLength: 80 }).map((array) => Buffer.from(array))
  const framed = fc.array(bytes, { maxLength: 4 }).map((endings) => batchOf('own_1', 1, endings))
  fc.assert(
    fc.property(fc.oneof(bytes, framed), (encoded) => {
      const entries = parseEntries([rawOf('b', encoded)])
      assert.ok(entries.length > 0)
    }),
    { numRuns: 500 },
  )
})

test('parts keep the order, and only a part with a single entry may exceed the bound', () => {
  const sizes = fc.array(fc.nat({ max: 40 }), { maxLength: 60 })
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 50 }), (list, most) => {
      const entries = list.map((size, i) => ({ raw: { shard: 0, id: `${i}-0`, fields: [] }, size }))
      const parts = inParts(entries, most)
      assert.deepEqual(parts.flat(), entries)
      for (const part of parts) {
        const total = part.reduce((sum, entry) => sum + entry.size, 0)
        assert.ok(total <= most || part.filter((entry) => entry.size > 0).length === 1, `${total} of ${most}`)
      }
      if (list.every((size) => size === 1) && list.length > 0) assert.equal(parts.length, Math.ceil(list.length / most))
    }),
  )
  assert.equal(itemOf(inParts([{ raw: { shard: 0, id: '1-0', fields: null }, size: 0 }], 3), 0).length, 1)
})
