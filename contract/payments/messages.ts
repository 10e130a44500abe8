import { type Fields, nothingLeft } from '../wire/fields.ts'
import { sluice } from '../wire/generated/messages.js'
import { parseAddress } from './address.ts'
import { parseBytes, parseBytes32, parseUint256 } from './encoding.ts'
import type { SignedPayment } from './signedPayment.ts'
import type { AssetId, PaymentAsset, PaymentTerms, TransferMethod } from './terms.ts'

const SIGNATURE_BYTES_MAX = 4_096
const ASSETS: ReadonlySet<string> = new Set<AssetId>(['coin', 'stablecoin'])
const METHODS: ReadonlySet<string> = new Set<TransferMethod>(['eip3009', 'permit2'])

/** The terms of payment as they cross Redis. */
export function termsToMessage(terms: PaymentTerms): sluice.PaymentTermsReply.$Properties {
  return {
    chainId: terms.chainId,
    payTo: terms.payTo,
    assets: terms.assets.map(assetRecord),
    agentRegistry: terms.agentRegistry ?? '',
    spender: terms.spender,
    quoteSecret: terms.quoteSecret,
    minUnits: terms.minUnits,
    marginSeconds: terms.marginSeconds,
  }
}

function assetRecord(asset: PaymentAsset): Fields<sluice.PaymentAssetRecord.$Properties> {
  const { id, address, decimals, name, version, method, usdUnits, ...left } = asset
  nothingLeft(left)
  return { id, address, decimals, name, version, method, usdUnits }
}

/** @throws Error when a member does not have its form */
export function termsOfMessage(message: sluice.PaymentTermsReply): PaymentTerms {
  return {
    chainId: message.chainId,
    payTo: present(parseAddress(message.payTo)),
    assets: message.assets.map((asset) => assetOf(sluice.PaymentAssetRecord.create(asset))),
    agentRegistry: message.agentRegistry === '' ? null : present(parseAddress(message.agentRegistry)),
    spender: present(parseAddress(message.spender)),
    quoteSecret: Buffer.from(message.quoteSecret),
    minUnits: message.minUnits,
    marginSeconds: message.marginSeconds,
  }
}

function assetOf(record: sluice.PaymentAssetRecord): PaymentAsset {
  const { id, decimals, name, version, method, usdUnits } = record
  if (!isAssetId(id) || !isMethod(method)) throw new Error(`no asset that can be paid in: ${id} by ${method}`)
  return { id, address: present(parseAddress(record.address)), decimals, name, version, method, usdUnits }
}

export function isAssetId(text: string): text is AssetId {
  return ASSETS.has(text)
}

function isMethod(text: string): text is TransferMethod {
  return METHODS.has(text)
}

/** A signed payment as it crosses Redis. */
export function paymentToMessage(payment: SignedPayment): sluice.SignedPaymentRecord.$Properties {
  const { method, chainId, token, from, to, signature } = payment
  const common = { method, chainId, token, from, to, signature, value: payment.value.toString() }
  if (payment.method === 'eip3009') {
    const { name, version, nonce } = payment
    const [validAfter, validUntil] = [payment.validAfter.toString(), payment.validBefore.toString()]
    return { ...common, name, version, nonce, validAfter, validUntil }
  }
  const { spender } = payment
  const permit = { ...common, spender, nonce: payment.nonce.toString(), validUntil: payment.deadline.toString() }
  if (payment.method === 'permit2') return { ...permit, validAfter: payment.validAfter.toString() }
  return { ...permit, challengeHash: payment.challengeHash, externalId: payment.externalId }
}

/** @throws Error when a member does not have its form */
export function paymentOfMessage(message: sluice.SignedPaymentRecord.$Properties): SignedPayment {
  const record = sluice.SignedPaymentRecord.create(message)
  const common = {
    chainId: record.chainId,
    token: present(parseAddress(record.token)),
    from: present(parseAddress(record.from)),
    to: present(parseAddress(record.to)),
    value: present(parseUint256(record.value)),
    signature: present(parseBytes(record.signature, SIGNATURE_BYTES_MAX)),
  }
  const until = present(parseUint256(record.validUntil))
  if (record.method === 'eip3009') {
    const { name, version } = record
    const validAfter = present(parseUint256(record.validAfter))
    const nonce = present(parseBytes32(record.nonce))
    return { method: 'eip3009', ...common, name, version, validAfter, validBefore: until, nonce }
  }
  const spender = present(parseAddress(record.spender))
  const permit = { ...common, deadline: until, nonce: present(parseUint256(record.nonce)), spender }
  if (record.method === 'permit2') {
    return { method: 'permit2', ...permit, validAfter: present(parseUint256(record.validAfter)) }
  }
  if (record.method !== 'mpp-permit2') throw new Error(`no way to pay: ${record.method}`)
  const challengeHash = present(parseBytes32(record.challengeHash))
  return { method: 'mpp-permit2', ...permit, challengeHash, externalId: record.externalId }
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a payment crossed Redis in a form that it does not have')
  return value
}
