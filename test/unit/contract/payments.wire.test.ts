import assert from 'node:assert/strict'
import test from 'node:test'
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import { parsePaymentRequired } from '@x402/core/schemas'
import fc from 'fast-check'
import { canonicalJson } from '../../../contract/payments/canonicalJson.ts'
import { atomicBack, atomicFor, unitsOf } from '../../../contract/payments/conversion.ts'
import { fromBase64Json, toBase64Json } from '../../../contract/payments/encoding.ts'
import { acceptsEvmCharge } from '../../../contract/payments/mpp.ts'
import { isAccepted, paymentFault, type RequiredPayment } from '../../../contract/payments/offerCheck.ts'
import { newQuote, quoteFault } from '../../../contract/payments/quote.ts'
import type { PaymentAsset, PaymentTerms } from '../../../contract/payments/terms.ts'
import { readPaymentHeader, requirementsOf, X402_VERSION } from '../../../contract/payments/x402.ts'
import { amountFor } from '../../../proxy/payments/offers.ts'
import { HEAD_BYTES_MAX } from '../../../proxy/server/exchange.ts'

const STABLECOIN: PaymentAsset = {
  id: 'stablecoin',
  address: `0x${'a1'.repeat(20)}`,
  decimals: 6,
  name: 'USD Coin',
  version: '2',
  method: 'eip3009',
  usdUnits: 1_000_000_000,
}
const COIN: PaymentAsset = { ...STABLECOIN, id: 'coin', decimals: 18, method: 'permit2', usdUnits: 0, version: '1' }
const TERMS: PaymentTerms = {
  chainId: 31_337,
  payTo: `0x${'b2'.repeat(20)}`,
  assets: [STABLECOIN, COIN],
  agentRegistry: null,
  spender: `0x${'c3'.repeat(20)}`,
  quoteSecret: Buffer.alloc(32, 7),
  minUnits: 0,
  marginSeconds: 30,
}
const BINDING = {
  path: '/x402/v1/chat/completions',
  bodySha256: Buffer.alloc(32, 1),
  sheetVersion: 3,
  minUnits: 0,
  units: 618_450,
  network: 'eip155:31337',
  asset: STABLECOIN.address,
  amount: '619',
  payTo: TERMS.payTo,
}

test('amounts: the requested amount covers the price, and exceeds it by at most one atomic unit', () => {
  const prices = fc.integer({ min: 1, max: 1_000_000_000_000 })
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.integer({ min: 0, max: 24 }), prices, (units, decimals, usd) => {
      const atomic = atomicFor(units, decimals, usd)
      const worth = (atomic * BigInt(usd)) / 10n ** BigInt(decimals)
      assert.ok(worth >= BigInt(units))
      if (atomic > 0n) assert.ok((atomic - 1n) * BigInt(usd) < BigInt(units) * 10n ** BigInt(decimals))
      if (worth <= BigInt(Number.MAX_SAFE_INTEGER)) assert.equal(unitsOf(atomic, decimals, usd), Number(worth))
    }),
  )
  assert.equal(atomicFor(618_450, 6, 1_000_000_000), 619n)
  assert.equal(unitsOf(619n, 6, 1_000_000_000), 619_000)
  assert.equal(atomicFor(15_750, 18, 500_000_000), 31_500_000_000_000n)
  assert.throws(() => unitsOf(10n ** 30n, 6, 1_000_000_000), RangeError)
})

test('amounts: partial refunds never sum to more than the payment', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 10n ** 30n }),
      fc.integer({ min: 1, max: 10 ** 15 }),
      fc.nat(),
      (paid, units, cut) => {
        const part = cut % (units + 1)
        assert.ok(atomicBack(paid, units, part) + atomicBack(paid, units, units - part) <= paid)
        assert.equal(atomicBack(paid, units, units), paid)
        assert.equal(atomicBack(paid, units, 0), 0n)
      },
    ),
  )
  assert.throws(() => atomicBack(1n, 1, 2), RangeError)
})

test('canonical JSON sorts members by code units and has exactly one form', () => {
  assert.equal(
    canonicalJson({ b: [1, 'é', true, null], a: { '€': 1, '\r': 2, z: undefined } }),
    '{"a":{"\\r":2,"€":1},"b":[1,"é",true,null]}',
  )
})

test('a quote binds body, path, sheet, units, asset, amount and recipient until it expires', () => {
  const secret = TERMS.quoteSecret
  const quote = newQuote(secret, BINDING, 1_800_000_000_000)
  assert.equal(quoteFault(secret, BINDING, quote, 1_799_999_999_999), undefined)
  assert.equal(quoteFault(secret, BINDING, quote, 1_800_000_000_000), 'expired')
  const changes = {
    path: '/x402/v1/completions',
    bodySha256: Buffer.alloc(32, 2),
    sheetVersion: 4,
    units: 618_449,
    minUnits: 1,
    network: 'eip155:1',
    asset: COIN.address.replace('a', 'b'),
    amount: '618',
    payTo: TERMS.spender,
  }
  for (const [name, value] of Object.entries(changes)) {
    assert.equal(quoteFault(secret, { ...BINDING, [name]: value }, quote, 0), 'altered', name)
  }
  assert.equal(quoteFault(Buffer.alloc(32, 8), BINDING, quote, 0), 'altered')
  assert.equal(quoteFault(secret, BINDING, quote.replace('18', '19'), 0), 'altered')
  for (const bad of [undefined, '', 'x', 5, `${quote}x`]) assert.equal(quoteFault(secret, BINDING, bad, 0), 'altered')
})

test('x402: the reference package reads our payment requirements', () => {
  const accepts = [
    requirementsOf(TERMS, STABLECOIN, 619n, 120, 'q1'),
    requirementsOf(TERMS, COIN, 618_450_000_000_000n, 120, 'q2'),
  ]
  const required = {
    x402Version: X402_VERSION,
    error: 'Payment required',
    resource: { url: 'http://h/x402/v1' },
    accepts,
  } as const
  const header = toBase64Json(required)
  assert.deepEqual(decodePaymentRequiredHeader(header), required)
  assert.equal(parsePaymentRequired(required).success, true)
})

const EIP3009_PAYLOAD = {
  signature: `0x${'ab'.repeat(65)}`,
  authorization: {
    from: `0x${'D4'.repeat(20)}`,
    to: TERMS.payTo,
    value: '619',
    validAfter: '0',
    validBefore: '1893456000',
    nonce: `0x${'EF'.repeat(32)}`,
  },
}
const PERMIT2_PAYLOAD = {
  signature: `0x${'ab'.repeat(65)}`,
  permit2Authorization: {
    from: `0x${'d4'.repeat(20)}`,
    permitted: { token: COIN.address, amount: '619' },
    spender: TERMS.spender,
    nonce: '01',
    deadline: '1893456000',
    witness: { to: TERMS.payTo, validAfter: '0' },
  },
}

function headerOf(
  asset: PaymentAsset,
  payload: Record<string, unknown>,
  changes: Record<string, unknown> = {},
): string {
  const accepted = requirementsOf(TERMS, asset, 619n, 120, 'q')
  return encodePaymentSignatureHeader({ x402Version: X402_VERSION, accepted, payload, ...changes } as never)
}

test('x402: payments written by the reference package are read', () => {
  const eip3009 = readPaymentHeader(headerOf(STABLECOIN, EIP3009_PAYLOAD), 10_000)
  assert.equal(eip3009?.payment.method, 'eip3009')
  assert.equal(eip3009.payment.from, `0x${'d4'.repeat(20)}`)
  assert.equal(eip3009.payment.nonce, `0x${'ef'.repeat(32)}`)
  assert.ok(isAccepted(eip3009.accepted, requirementsOf(TERMS, STABLECOIN, 619n, 120, 'q')))
  const permit2 = readPaymentHeader(headerOf(COIN, PERMIT2_PAYLOAD), 10_000)
  assert.equal(permit2?.payment.method, 'permit2')
  assert.equal(permit2.payment.nonce, 1n)
})

test('x402: everything that is not a payment of version 2 is rejected', () => {
  const { authorization } = EIP3009_PAYLOAD
  const bad: Array<[string, string]> = [
    ['version 1', headerOf(STABLECOIN, EIP3009_PAYLOAD, { x402Version: 1 })],
    ['no payload', headerOf(STABLECOIN, EIP3009_PAYLOAD, { payload: undefined })],
    ['no accepted', headerOf(STABLECOIN, EIP3009_PAYLOAD, { accepted: [] })],
    ['base64url', `${toBase64Json({ a: '>>>???' }).slice(0, -2)}-_`],
    ['not JSON', Buffer.from('hello').toString('base64')],
    ['too long', 'A'.repeat(10_001)],
    ['short signature', headerOf(STABLECOIN, { ...EIP3009_PAYLOAD, signature: '0xabc' })],
  ]
  for (const [member, value] of Object.entries({
    from: '0x12',
    to: 5,
    value: '-1',
    validAfter: '1e3',
    validBefore: '',
    nonce: '0x11',
  })) {
    bad.push([
      member,
      headerOf(STABLECOIN, { ...EIP3009_PAYLOAD, authorization: { ...authorization, [member]: value } }),
    ])
  }
  bad.push([
    'another chain family',
    toBase64Json({
      x402Version: 2,
      accepted: { ...requirementsOf(TERMS, STABLECOIN, 1n, 1, 'q'), network: 'solana:x' },
      payload: EIP3009_PAYLOAD,
    }),
  ])
  for (const [what, header] of bad) assert.equal(readPaymentHeader(header, 10_000), undefined, what)
  fc.assert(fc.property(fc.string(), (text) => fromBase64Json(text, 1_000) === undefined || text.length > 0))
})

test('x402: a modified offer is not accepted', () => {
  const offer = requirementsOf(TERMS, STABLECOIN, 619n, 120, 'q')
  const accepted = { ...offer } as unknown as Record<string, unknown>
  assert.ok(isAccepted({ ...accepted, extra: { ...offer.extra, more: 1 } }, offer))
  for (const [name, value] of Object.entries({
    amount: '1',
    payTo: TERMS.spender,
    maxTimeoutSeconds: '120',
    asset: COIN,
    network: 'eip155:1',
    scheme: 'upto',
  })) {
    assert.equal(isAccepted({ ...accepted, [name]: value }, offer), false, name)
  }
  assert.equal(isAccepted({ ...accepted, outputSchema: {} }, offer), false)
  assert.equal(isAccepted({ ...accepted, extra: { ...offer.extra, quote: 'other' } }, offer), false)
  assert.equal(isAccepted({ ...accepted, extra: undefined }, offer), false)
})

test('the signed payment is compared with the requirements', () => {
  const found = readPaymentHeader(headerOf(STABLECOIN, EIP3009_PAYLOAD), 10_000)
  assert.ok(found)
  const asked: RequiredPayment = {
    network: 'eip155:31337',
    token: STABLECOIN.address,
    method: 'eip3009',
    payTo: TERMS.payTo,
    amountAtomic: 619n,
    spender: '',
    marginSeconds: 30,
  }
  const fault = (changes: Partial<RequiredPayment>, nowSeconds = 1_800_000_000) =>
    paymentFault(found.payment, { ...asked, ...changes }, nowSeconds)
  assert.equal(fault({}), undefined)
  assert.equal(fault({ network: 'eip155:1' }), 'network')
  assert.equal(fault({ token: COIN.address.replace('a', 'b') }), 'token')
  assert.equal(fault({ method: 'permit2' }), 'method')
  assert.equal(fault({ payTo: TERMS.spender }), 'recipient')
  assert.equal(fault({ amountAtomic: 620n }), 'amount')
  assert.equal(fault({}, 1_893_455_970), undefined)
  assert.equal(fault({}, 1_893_455_971), 'expired')
  assert.equal(paymentFault({ ...found.payment, validAfter: 1_800_000_001n } as never, asked, 1_800_000_000), 'early')
})

test('MPP: Accept-Payment', () => {
  for (const accept of ['evm/charge', 'tempo/*, evm/*;q=0.5', '*/*', '', 'nonsense;;', 'tempo/charge']) {
    assert.equal(acceptsEvmCharge(accept), true, accept)
  }
  assert.equal(acceptsEvmCharge('evm/charge;q=0, tempo/*'), false)
  assert.equal(acceptsEvmCharge(' evm/charge \t; q=0 ,tempo/* '), false)
})

test('MPP: blanks in Accept-Payment are read in no time, since anybody may send them', () => {
  const { user } = process.cpuUsage()
  const blanks = ' '.repeat(8 * HEAD_BYTES_MAX)
  for (const end of ['x', ';', '; q=2']) assert.equal(acceptsEvmCharge(`evm/charge${blanks}${end}`), true)
  assert.equal(acceptsEvmCharge(`evm/charge${blanks};${blanks}q=0`), false)
  assert.ok((process.cpuUsage().user - user) / 1_000 < 1_000)
})

test('the amount requested for a request can be credited and covers its hold in every token, also for free requests', () => {
  const priced = { path: '/x402/v1/chat/completions', bodySha256: Buffer.alloc(32), sheetVersion: 1 }
  const units = fc.oneof(fc.constantFrom(0, 1), fc.integer({ min: 0, max: 1_000_000_000_000 }))
  fc.assert(
    fc.property(units, units, fc.integer({ min: 1, max: 100_000_000_000 }), (wanted, minUnits, coinUsdUnits) => {
      for (const asset of [STABLECOIN, COIN]) {
        const amount = amountFor({ ...TERMS, minUnits }, asset, { ...priced, units: wanted, coinUsdUnits })
        const credited = unitsOf(amount, asset.decimals, asset.usdUnits || coinUsdUnits)
        assert.ok(credited >= Math.max(wanted, minUnits, 1), `${amount} of ${asset.id} is ${credited} units`)
      }
    }),
  )
})
