import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { chargesOf } from '../../../../../control/book/settlement/charges.ts'
import { parseEntry } from '../../../../../control/book/settlement/entry.ts'

function charged(split: string, chargeUnits: number) {
  const settlement = {
    requestId: 'req_1',
    accountId: 'acct_1',
    keyId: 'key_1',
    status: sluice.Status.OK,
    holdUnits: 100,
  }
  const fields = {
    e: Buffer.from(sluice.Settlement.encode(settlement).finish()),
    c: String(chargeUnits),
    t: '5',
    s: split,
  }
  const values = Object.entries(fields)
    .flat()
    .map((field) => Buffer.from(field))
  const entry = parseEntry({ shard: 3, id: '5-0', fields: values })
  return entry.kind === 'ended' ? entry : assert.fail(JSON.stringify(entry))
}

const charge = { kind: 'charge', ref: 'req_1', credit: 'revenue:03' }
const unpaid = { ...charge, credit: 'revenue_unpaid:03' }

test('a charge takes the coin of its split, and only what coin paid counts as revenue that is shared', () => {
  const balances = new Map([
    ['coin:acct_1', 50],
    ['grant:grt_1', 30],
  ])
  const { transfers, shortfallUnits } = chargesOf([charged('grt_1=30,coin=40:20', 70)], balances)
  assert.deepEqual(transfers, [
    { ...unpaid, debit: 'grant:grt_1', units: 30, coinNanos: 30 },
    { ...charge, debit: 'coin:acct_1', units: 40, coinNanos: 20 },
  ])
  assert.equal(shortfallUnits, 0)
  assert.equal(balances.get('coin:acct_1'), 30)
})

test('the house bears the part that the booked coin does not cover, so the charge is booked in full', () => {
  const balances = new Map([['coin:acct_1', 7]])
  const { transfers, shortfallUnits, shortShards } = chargesOf([charged('coin=40:20', 40)], balances)
  assert.deepEqual(transfers, [
    { ...charge, debit: 'coin:acct_1', units: 14, coinNanos: 7 },
    { ...unpaid, debit: 'house', units: 26 },
  ])
  assert.deepEqual([shortfallUnits, [...shortShards]], [26, [3]])
})

test('coin worth less than a unit is still taken', () => {
  const { transfers } = chargesOf([charged('coin=1:20', 1)], new Map([['coin:acct_1', 7]]))
  assert.deepEqual(transfers, [
    { ...charge, debit: 'coin:acct_1', units: 0, coinNanos: 7 },
    { ...unpaid, debit: 'house', units: 1 },
  ])
})
