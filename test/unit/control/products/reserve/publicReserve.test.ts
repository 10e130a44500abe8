import assert from 'node:assert/strict'
import { test } from 'node:test'
import { publicReserve } from '../../../../../control/products/reserve/publicReserve.ts'
import type { StatedReserve } from '../../../../../control/products/reserve/statedReserve.ts'

const EXACT: StatedReserve = {
  network: 'eip155:1',
  block: 7,
  block_hash: '0x00',
  token: null,
  treasury: null,
  vault: null,
  coin_usd: '0.5',
  held: [],
  held_usd: '12.5',
  owed: [{ class: 'customer_coin', asset: 'coin', accounts: 2, amount: '12.340000001', usd: '6.170000001' }],
  owed_usd: '6.170000001',
  ratio: '2.025931',
  covered: true,
}

test('the charge of a request does not show in the debts', () => {
  const charged = {
    ...EXACT,
    owed: EXACT.owed.map((one) => ({ ...one, amount: '12.331234567', usd: '6.165617284' })),
    owed_usd: '6.165617284',
    ratio: '2.027372',
  }
  const shown = publicReserve(EXACT)
  assert.deepEqual(shown.owed, [{ ...EXACT.owed[0], amount: '12.35', usd: '6.18' }])
  assert.deepEqual([shown.owed_usd, shown.ratio], ['6.18', '2.02'])
  assert.deepEqual(publicReserve({ ...charged, owed_usd: '6.171' }).owed_usd, shown.owed_usd)
  assert.deepEqual(publicReserve(charged).ratio, shown.ratio)
})

test('whole amounts stay, and rounding carries', () => {
  const amounts = ['0', '5', '0.5', '0.01', '0.000000001', '9.999', '0.091']
  const owed = amounts.map((amount) => ({ class: 'escrow', asset: 'coin' as const, accounts: 1, amount, usd: amount }))
  assert.deepEqual(
    publicReserve({ ...EXACT, owed, ratio: null }).owed.map(({ amount }) => amount),
    ['0', '5', '0.5', '0.01', '0.01', '10', '0.1'],
  )
})
