// Each rule of the money path that the book asserts before it writes, broken by an entry or by the balances: nothing is
// posted, and the batch is divided until the entry at fault is alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MoneyFault, type MoneyRule } from '../../../contract/money/moneyFault.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { postNewTransfers, type Transfer } from '../../../control/book/ledger/postTransfers.ts'
import { isCausedByContent } from '../../../control/book/settlement/bookBatch.ts'
import { chargesOf } from '../../../control/book/settlement/charges.ts'
import { type EndedEntry, endedEntry } from '../../../control/book/settlement/entry.ts'
import { addKeyUsage } from '../../../control/book/settlement/keyUsage.ts'
import type { Client } from '../../../control/runtime/db/pool.ts'
import { itemOf } from '../../support/present.ts'

const breaks = (rule: MoneyRule) => (error: unknown) => {
  return error instanceof MoneyFault && error.rule === rule && isCausedByContent(error)
}
const noClient = { query: () => assert.fail('a statement was sent') } as unknown as Client

/** An ending that charges 10 units of coin. */
function entryOf(): EndedEntry {
  const settlement = sluice.Settlement.create({
    requestId: 'req_1',
    accountId: 'acct_1',
    keyId: 'key_1',
    status: sluice.Status.OK,
    holdUnits: 100,
    chargeUnits: 10,
  })
  return endedEntry(
    { raw: { shard: 0, id: '5-0', fields: null } },
    { settlement, charged: 10, heldAtMs: 5, split: 'coin=10' },
  )
}

test('transfers that do not add up to their charge are not made', () => {
  const entry = entryOf()
  const balances = () => new Map([['coin:acct_1', 50]])
  assert.equal(chargesOf([entry], balances()).transfers.length, 1)
  const part = itemOf(entry.parts, 0)
  for (const parts of [[], [part, part], [{ ...part, units: 9 }], [{ ...part, units: Number.NaN }]])
    assert.throws(() => chargesOf([{ ...entry, parts }], balances()), breaks('posting_is_charge'))
})

test('an account that pays is not below zero', () => {
  for (const balance of [-1, Number.NaN])
    assert.throws(() => chargesOf([entryOf()], new Map([['coin:acct_1', balance]])), breaks('balance_not_negative'))
})

test('a transfer that moves nothing, less than nothing, or to the same account is not posted', async () => {
  const transfer: Transfer = { kind: 'charge', ref: 'req_1', debit: 'coin:acct_1', credit: 'revenue:00', units: 5 }
  for (const change of [
    { units: 0 },
    { units: -5 },
    { units: Number.NaN },
    { coinNanos: -1 },
    { units: 0, coinNanos: 0 },
    { credit: 'coin:acct_1' },
  ])
    await assert.rejects(
      postNewTransfers(noClient, [transfer, { ...transfer, ...change }]),
      breaks('transfer_moves_amount'),
    )
})

test('the usage of a key only grows', async () => {
  const { receipt } = entryOf()
  for (const chargeUnits of [-1, Number.NaN])
    await assert.rejects(addKeyUsage(noClient, [receipt, { ...receipt, chargeUnits }]), breaks('counter_not_negative'))
})
