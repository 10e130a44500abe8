import assert from 'node:assert/strict'
import test from 'node:test'
import { settlementFee } from '../../../contract/money/settlementFee.ts'
import { checkPayment } from '../../../verifier/amounts.ts'
import { type Amount, readReceipt } from '../../../verifier/receipt.ts'
import { FIELDS, provedReceipt } from '../../support/samples/provedReceipt.ts'

const amount = (units: number): Amount => ({ units: BigInt(units), usd: '', coin: '' })
const RECEIPT = readReceipt(JSON.parse(provedReceipt(FIELDS).text))
const PAID = { amount: amount(100), minimum: amount(50), fee: amount(20), refund: amount(45), credit: null }
const CREDIT = { used: amount(3), kept: amount(8), left: amount(8) }

const receipt = (costUnits: number, status = RECEIPT.status, errorCode = '') => ({
  ...RECEIPT,
  cost: amount(costUnits),
  status,
  errorCode,
})

test('the payment equals the sum of charge, refund and credit', () => {
  assert.match(checkPayment(receipt(30), { ...PAID, credit: CREDIT }), /100 units, 45 sent back, 8 kept as credit/)
  assert.match(checkPayment(receipt(30), PAID), /what goes back is not known yet/)
  assert.throws(
    () => checkPayment(receipt(30), { ...PAID, credit: { ...CREDIT, kept: amount(9) } }),
    /103 units came and 104/,
  )
  assert.throws(() => checkPayment(receipt(30), { ...PAID, refund: null, credit: CREDIT }), /103 units came and 58/)
})

test('the fee is the difference to the smallest charge, if the request was served or the client was at fault', () => {
  for (const [status, errorCode] of [
    ['ok', ''],
    ['partial', 'stream_interrupted'],
    ['failed', 'upstream_unavailable'],
    ['failed', 'client_gone'],
    ['failed', 'context_length_exceeded'],
    ['cut', 'stream_cut'],
    ['orphaned', ''],
  ] as const) {
    for (const [units, minUnits, costUnits] of [
      [100, 50, 30],
      [40, 50, 30],
      [100, 50, 60],
      [100, 0, 0],
    ] as const) {
      const due = settlementFee({ units, minUnits, costUnits, status, errorCode })
      const paid = { ...PAID, amount: amount(units), minimum: amount(minUnits), fee: amount(due) }
      assert.match(checkPayment(receipt(costUnits, status, errorCode), paid), /units/)
      const other = { ...paid, fee: amount(due + 1) }
      assert.throws(() => checkPayment(receipt(costUnits, status, errorCode), other), new RegExp(`makes it ${due}`))
    }
  }
})
