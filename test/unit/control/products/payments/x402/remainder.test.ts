import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { atomicFor, unitsOf, wholeAtomic } from '../../../../../../contract/payments/conversion.ts'
import { remainderOf, type TokenPrice } from '../../../../../../control/products/payments/x402/remainder.ts'

const MIN_UNITS = 10_000_000
const DOLLAR: TokenPrice = { decimals: 6, usdUnits: 1_000_000_000 }
const paid = { amount: 4_200n, units: 4_200_000, chargeUnits: 0, voided: false, creditUnits: 0 }

test('a remainder below the smallest refund is kept', () => {
  assert.deepEqual(remainderOf({ ...paid, chargeUnits: 1_234_567 }, DOLLAR, MIN_UNITS), {
    backUnits: 0,
    backAmount: 0n,
    usedUnits: 0,
    keptUnits: 2_965_433,
    leftUnits: 2_965_433,
  })
})

test('the charge is taken from the credit first', () => {
  const ended = { ...paid, chargeUnits: 1_000_000, creditUnits: 2_965_433 }
  assert.deepEqual(remainderOf(ended, DOLLAR, MIN_UNITS), {
    backUnits: 0,
    backAmount: 0n,
    usedUnits: 1_000_000,
    keptUnits: 4_200_000,
    leftUnits: 6_165_433,
  })
})

test('once the remainder of payment and credit reaches the smallest refund, it is refunded in whole atomic units', () => {
  const ended = { ...paid, chargeUnits: 100_001, creditUnits: 6_165_433 }
  assert.deepEqual(remainderOf(ended, DOLLAR, MIN_UNITS), {
    backUnits: 10_265_000,
    backAmount: 10_265n,
    usedUnits: 6_165_433,
    keptUnits: 432,
    leftUnits: 432,
  })
})

test('a payment for an unserved request is refunded in full and leaves the credit unchanged', () => {
  const ended = { ...paid, voided: true, creditUnits: 9_999_999 }
  assert.deepEqual(remainderOf(ended, DOLLAR, MIN_UNITS), {
    backUnits: 4_200_000,
    backAmount: 4_200n,
    usedUnits: 0,
    keptUnits: 0,
    leftUnits: 9_999_999,
  })
})

test('the credit is refunded at the price of the day, the payment at its own rate', () => {
  const ended = { ...paid, creditUnits: 9_000_000 }
  const { backUnits, backAmount, leftUnits } = remainderOf(ended, { ...DOLLAR, usdUnits: 2_000_000_000 }, MIN_UNITS)
  assert.deepEqual({ backUnits, backAmount, leftUnits }, { backUnits: 13_200_000, backAmount: 8_700n, leftUnits: 0 })
})

test('of a token without a price, at most the payment is refunded', () => {
  const { backUnits, backAmount, leftUnits } = remainderOf({ ...paid, creditUnits: 9_000_000 }, undefined, MIN_UNITS)
  assert.deepEqual(
    { backUnits, backAmount, leftUnits },
    { backUnits: 4_200_000, backAmount: 4_200n, leftUnits: 9_000_000 },
  )
})

const price = fc.record({ decimals: fc.integer({ min: 0, max: 24 }), usdUnits: fc.integer({ min: 1, max: 1e13 }) })
const request = fc.record({
  holdUnits: fc.integer({ min: 1, max: 1e10 }),
  chargedPermille: fc.integer({ min: 0, max: 1_000 }),
  voided: fc.boolean(),
  jitter: fc.bigInt(0n, 1n << 32n),
})

const CHARGED_WHOLE = { holdUnits: 1, chargedPermille: 1_000, voided: false, jitter: 0n }

test('over the requests of a wallet no unit and no token is lost, created or used twice', () => {
  fc.assert(
    fc.property(price, fc.nat(1e9), fc.array(request, { maxLength: 30 }), (token, minUnits, requests) => {
      const sum = { paid: 0, charged: 0, back: 0 }
      let creditUnits = 0
      for (const { holdUnits, chargedPermille, voided, jitter } of requests) {
        const amount = atomicFor(holdUnits, token.decimals, token.usdUnits) + (token.decimals >= 16 ? jitter : 0n)
        const units = unitsOf(amount, token.decimals, token.usdUnits)
        const chargeUnits = voided ? 0 : Math.floor((holdUnits * chargedPermille) / 1_000)
        const got = remainderOf({ amount, units, chargeUnits, voided, creditUnits }, token, minUnits)
        assert.ok(Object.values(got).every((part) => part >= 0))
        assert.equal(units + got.usedUnits, chargeUnits + got.backUnits + got.keptUnits)
        assert.equal(got.leftUnits, creditUnits - got.usedUnits + got.keptUnits)
        assert.equal(got.backUnits > 0, got.backAmount > 0n)
        if (voided) assert.equal(got.backAmount, amount)
        else if (got.backAmount > 0n) assert.ok(got.leftUnits + got.backUnits >= minUnits)
        // Nothing is kept that could go back: it is below the smallest refund, or below one atomic unit.
        else
          assert.ok(
            got.leftUnits === 0 ||
              got.leftUnits < minUnits ||
              wholeAtomic(got.leftUnits - 1, token.decimals, token.usdUnits).amount === 0n,
          )
        creditUnits = got.leftUnits
        sum.paid += units
        sum.charged += chargeUnits
        sum.back += got.backUnits
      }
      assert.equal(sum.paid, sum.charged + sum.back + creditUnits)
    }),
    { numRuns: 2_000, examples: [[{ decimals: 0, usdUnits: 1 }, 0, [CHARGED_WHOLE]]] },
  )
})
