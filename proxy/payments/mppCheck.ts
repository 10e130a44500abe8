import { GatewayError } from '../../contract/errors/errors.ts'
import { type Address, parseAddress } from '../../contract/payments/address.ts'
import { readAuthorization } from '../../contract/payments/authorization.ts'
import { fromBase64UrlJson, parseBytes, parseBytes32, parseUint256 } from '../../contract/payments/encoding.ts'
import {
  bodyDigest,
  type Challenge,
  type Credential,
  isOurChallenge,
  readCredential,
  sourceAccount,
} from '../../contract/payments/mpp.ts'
import type { SignedPayment } from '../../contract/payments/signedPayment.ts'
import type { PaymentAsset, PaymentTerms } from '../../contract/payments/terms.ts'
import { isJsonObject, type JsonObject } from '../../contract/std/jsonObject.ts'
import { type CheckedPayment, requirePayment } from './checkedPayment.ts'
import { amountFor, credentialTypes, JITTER_END, opaqueOf, type Priced } from './offers.ts'

const SIGNATURE_BYTES_MAX = 4_096
const EXTERNAL_ID = ''

/**
 * Checks an MPP credential against its challenge, and the challenge against the current price of its request.
 * @param authorization the Authorization header
 * @throws GatewayError mpp_malformed_credential, mpp_invalid_challenge, mpp_payment_expired, mpp_invalid_payload,
 *   quote_mismatch, payment_invalid
 */
export function checkMpp(
  authorization: string,
  terms: PaymentTerms,
  priced: Priced,
  headerBytesMax: number,
): CheckedPayment {
  const credential = readCredential(authorization, headerBytesMax)
  const source = credential && sourceAccount(credential.source)
  if (credential === undefined || source === undefined) throw new GatewayError('mpp_malformed_credential')
  const { challenge } = credential
  const { asset, amount } = checkChallenge(challenge, terms, priced)
  if (source.chainId !== terms.chainId) {
    throw new GatewayError('payment_invalid', {
      message: 'source names an account of another chain; name the payer on the chain of the challenge.',
    })
  }
  const common = {
    protocol: 'mpp' as const,
    asset,
    amount,
    payer: source.address,
    challenge: { id: challenge.id, realm: challenge.realm },
  }
  const { type } = credential.payload
  if (typeof type !== 'string' || !credentialTypes(asset).includes(type)) {
    const message = `payload.type must be one of: ${credentialTypes(asset).join(', ')}.`
    throw new GatewayError('mpp_invalid_payload', { message })
  }
  if (type === 'transaction' || type === 'hash') return { ...common, payment: undefined, ...ownTransaction(credential) }
  const payment =
    type === 'authorization'
      ? readEip3009(credential.payload, terms, asset)
      : readPermit2(credential.payload, terms, source.address)
  if (payment === undefined) throw new GatewayError('mpp_invalid_payload')
  if (payment.from !== source.address) {
    throw new GatewayError('payment_invalid', {
      message: 'source is not the account that the payment is from; name that account.',
    })
  }
  requirePayment(payment, terms, asset, amount, 'mpp_payment_expired')
  return { ...common, payment, transactionRaw: '', transactionHash: '' }
}

/** @throws GatewayError mpp_invalid_challenge, mpp_payment_expired, quote_mismatch */
function checkChallenge(
  challenge: Challenge,
  terms: PaymentTerms,
  priced: Priced,
): { asset: PaymentAsset; amount: bigint } {
  if (!isOurChallenge(terms.quoteSecret, challenge)) throw new GatewayError('mpp_invalid_challenge')
  const request = fromBase64UrlJson(challenge.request, challenge.request.length) ?? {}
  const opaque = fromBase64UrlJson(challenge.opaque, challenge.opaque.length) ?? {}
  if (challenge.digest !== bodyDigest(priced.bodySha256) || opaque['path'] !== priced.path) {
    const message = 'The challenge is for another request or body; ask for a new one.'
    throw new GatewayError('mpp_invalid_challenge', { message })
  }
  if (!(Date.parse(challenge.expires) > Date.now())) throw new GatewayError('mpp_payment_expired')
  const token = parseAddress(request['currency'])
  const asset = terms.assets.find(({ address }) => address === token)
  const amount = parseUint256(request['amount'])
  if (asset === undefined || amount === undefined || parseAddress(request['recipient']) !== terms.payTo) {
    throw new GatewayError('quote_mismatch')
  }
  const beyond = amount - amountFor(terms, asset, priced)
  const isPriced = beyond >= 0n && beyond < BigInt(JITTER_END) && challenge.opaque === opaqueOf(terms, priced)
  if (!isPriced) throw new GatewayError('quote_mismatch')
  return { asset, amount }
}

function ownTransaction({ payload }: Credential): { transactionRaw: string; transactionHash: string } {
  if (payload['type'] === 'hash') {
    const hash = parseBytes32(payload['hash'])
    if (hash === undefined) throw new GatewayError('mpp_invalid_payload')
    return { transactionRaw: '', transactionHash: hash }
  }
  const raw = parseBytes(payload['signature'], SIGNATURE_BYTES_MAX)
  if (raw === undefined || raw === '0x') throw new GatewayError('mpp_invalid_payload')
  return { transactionRaw: raw, transactionHash: '' }
}

function readEip3009(payload: JsonObject, terms: PaymentTerms, asset: PaymentAsset): SignedPayment | undefined {
  const signed = readAuthorization(payload)
  const signature = parseBytes(payload['signature'], SIGNATURE_BYTES_MAX)
  if (signed === undefined || signature === undefined) return undefined
  const { address: token, name, version } = asset
  return { method: 'eip3009', chainId: terms.chainId, token, name, version, ...signed, signature }
}

/** One token to one recipient; the spender is the gateway's, because the signed message of Permit2 contains the caller. */
function readPermit2(payload: JsonObject, terms: PaymentTerms, from: Address): SignedPayment | undefined {
  const { permit, transferDetails, witness } = payload
  if (!isJsonObject(permit) || !isJsonObject(witness)) return undefined
  const permitted = onlyOf(permit['permitted'])
  const details = onlyOf(transferDetails)
  const token = parseAddress(permitted?.['token'])
  const value = parseUint256(permitted?.['amount'])
  const to = parseAddress(details?.['to'])
  const nonce = parseUint256(permit['nonce'])
  const deadline = parseUint256(permit['deadline'])
  const challengeHash = parseBytes32(witness['challengeHash'])
  const signature = parseBytes(payload['signature'], SIGNATURE_BYTES_MAX)
  if (token === undefined || value === undefined || to === undefined || nonce === undefined) return undefined
  if (deadline === undefined || challengeHash === undefined || signature === undefined) return undefined
  if ((witness['externalId'] ?? EXTERNAL_ID) !== EXTERNAL_ID) return undefined
  if (parseUint256(details?.['requestedAmount']) !== value) return undefined
  const { chainId, spender } = terms
  const signed = { chainId, token, from, to, value, deadline, nonce, spender, challengeHash, signature }
  return { method: 'mpp-permit2', ...signed, externalId: EXTERNAL_ID }
}

function onlyOf(list: unknown): JsonObject | undefined {
  const [only, ...others] = Array.isArray(list) ? (list as unknown[]) : []
  return others.length === 0 && isJsonObject(only) ? only : undefined
}
