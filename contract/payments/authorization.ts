import { parseAddress } from './address.ts'
import { parseBytes32, parseUint256 } from './encoding.ts'
import type { Eip3009Payment } from './signedPayment.ts'

/** The EIP-3009 message that a payer signs, without the token's domain. https://eips.ethereum.org/EIPS/eip-3009 */
export type Authorization = Pick<Eip3009Payment, 'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce'>

/** Reads an authorization; x402 and MPP use the same member names. @returns undefined when one is missing or invalid */
export function readAuthorization(members: Readonly<Record<string, unknown>>): Authorization | undefined {
  const from = parseAddress(members['from'])
  const to = parseAddress(members['to'])
  const value = parseUint256(members['value'])
  const validAfter = parseUint256(members['validAfter'])
  const validBefore = parseUint256(members['validBefore'])
  const nonce = parseBytes32(members['nonce'])
  if (from === undefined || to === undefined || nonce === undefined) return undefined
  if (value === undefined || validAfter === undefined || validBefore === undefined) return undefined
  return { from, to, value, validAfter, validBefore, nonce }
}
