import { isJsonObject } from '../std/jsonObject.ts'
import { networkOf, parseAddress } from './address.ts'
import { readAuthorization } from './authorization.ts'
import { fromBase64Json, parseBytes, parseUint256 } from './encoding.ts'
import type { SignedPayment } from './signedPayment.ts'
import type { PaymentAsset, PaymentTerms } from './terms.ts'

/** Version of the protocol: https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md */
export const X402_VERSION = 2
const X402_SCHEME = 'exact'
const SIGNATURE_BYTES_MAX = 4_096

export interface ResourceInfo {
  readonly url: string
  readonly description?: string
  readonly mimeType?: string
}

/** One way to pay, of PaymentRequired.accepts. */
export interface PaymentRequirements {
  readonly scheme: string
  readonly network: string
  /** Atomic units of the token, decimal. */
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: Record<string, string>
}

/** The content of the header PAYMENT-REQUIRED. */
export interface PaymentRequired {
  readonly x402Version: typeof X402_VERSION
  readonly error?: string
  readonly resource: ResourceInfo
  readonly accepts: PaymentRequirements[]
}

/** The content of the header PAYMENT-RESPONSE. */
export interface SettleResponse {
  readonly success: boolean
  readonly errorReason?: string
  /** Hash of the transaction; empty when there is none. */
  readonly transaction: string
  readonly network: string
  readonly payer?: string
}

/** A payment header whose shape alone is checked. */
export interface X402Payment {
  /** The offer that the client claims to pay; it has to be compared with the offers that were made. */
  readonly accepted: Readonly<Record<string, unknown>>
  readonly payment: SignedPayment
}

/**
 * One offer.
 * @param amountAtomic atomic units of the token
 * @param windowSeconds how long the client's signature is to hold
 * @param quote binds the offer to the request; clients echo it unchanged
 */
export function requirementsOf(
  terms: PaymentTerms,
  asset: PaymentAsset,
  amountAtomic: bigint,
  windowSeconds: number,
  quote: string,
): PaymentRequirements {
  return {
    scheme: X402_SCHEME,
    network: networkOf(terms.chainId),
    amount: amountAtomic.toString(),
    asset: asset.address,
    payTo: terms.payTo,
    maxTimeoutSeconds: windowSeconds,
    extra: {
      name: asset.name,
      version: asset.version,
      // Clients take a missing method for EIP-3009.
      ...(asset.method === 'permit2' ? { assetTransferMethod: 'permit2' } : {}),
      quote,
    },
  }
}

/**
 * Reads PAYMENT-SIGNATURE.
 * @returns undefined when it is not a payment of this version with one of the two payloads of `exact`
 */
export function readPaymentHeader(header: string, bytesMax: number): X402Payment | undefined {
  const message = fromBase64Json(header, bytesMax)
  if (message === undefined || message['x402Version'] !== X402_VERSION) return undefined
  const { accepted, payload } = message
  if (!isJsonObject(accepted) || !isJsonObject(payload)) return undefined
  const signature = parseBytes(payload['signature'], SIGNATURE_BYTES_MAX)
  const network = accepted['network']
  const token = parseAddress(accepted['asset'])
  if (signature === undefined || token === undefined || typeof network !== 'string') return undefined
  const chain = /^eip155:([1-9][0-9]{0,14})$/.exec(network)
  if (chain === null) return undefined
  const chainId = Number(chain[1])
  const payment = isJsonObject(payload['permit2Authorization'])
    ? readPermit2(payload['permit2Authorization'], chainId, signature)
    : readEip3009(payload['authorization'], chainId, token, accepted, signature)
  return payment === undefined ? undefined : { accepted, payment }
}

function readEip3009(
  authorization: unknown,
  chainId: number,
  token: `0x${string}`,
  accepted: Readonly<Record<string, unknown>>,
  signature: `0x${string}`,
): SignedPayment | undefined {
  if (!isJsonObject(authorization)) return undefined
  const extra = isJsonObject(accepted['extra']) ? accepted['extra'] : {}
  const signed = readAuthorization(authorization)
  const { name, version } = extra
  if (signed === undefined || typeof name !== 'string' || typeof version !== 'string') return undefined
  return { method: 'eip3009', chainId, token, name, version, ...signed, signature }
}

function readPermit2(
  authorization: Readonly<Record<string, unknown>>,
  chainId: number,
  signature: `0x${string}`,
): SignedPayment | undefined {
  const { permitted, witness } = authorization
  if (!isJsonObject(permitted) || !isJsonObject(witness)) return undefined
  const from = parseAddress(authorization['from'])
  const token = parseAddress(permitted['token'])
  const value = parseUint256(permitted['amount'])
  const spender = parseAddress(authorization['spender'])
  const nonce = parseUint256(authorization['nonce'])
  const deadline = parseUint256(authorization['deadline'])
  const to = parseAddress(witness['to'])
  const validAfter = parseUint256(witness['validAfter'])
  if (from === undefined || token === undefined || spender === undefined || to === undefined) return undefined
  if (value === undefined || nonce === undefined || deadline === undefined || validAfter === undefined) return undefined
  return { method: 'permit2', chainId, token, from, to, value, validAfter, deadline, nonce, spender, signature }
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** Whether PAYMENT-SIGNATURE has more than one payment. JSON that somebody forgot to encode has commas, too. */
export function hasSeveralPayments(header: string): boolean {
  return header.includes(',') && header.split(',').every((part) => BASE64.test(part.trim()))
}
