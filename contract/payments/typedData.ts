import { concat, encodePacked, hashStruct, keccak256, stringToHex } from 'viem/utils'
import { PERMIT2_ADDRESS } from './addresses.ts'
import type { MppPermit2Payment, SignedPayment } from './signedPayment.ts'

type Hex = `0x${string}`

const TOKEN_PERMISSIONS = [
  { name: 'token', type: 'address' },
  { name: 'amount', type: 'uint256' },
] as const

/** https://eips.ethereum.org/EIPS/eip-712#definition-of-domainseparator; a domain without a version has no such member. */
const DOMAIN: readonly { name: string; type: string }[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]

/** https://eips.ethereum.org/EIPS/eip-3009 */
export const EIP3009_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The witness of x402 `exact`; https://github.com/coinbase/x402/blob/main/specs/schemes/exact/scheme_exact_evm.md */
const PERMIT2_TYPES = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: TOKEN_PERMISSIONS,
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
} as const

/** The witness of MPP `charge` over EVM, in the form that every EIP-712 library gives it. */
export const MPP_PERMIT2_TYPES = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'PaymentWitness' },
  ],
  PaymentWitness: [
    { name: 'challengeHash', type: 'bytes32' },
    { name: 'externalId', type: 'string' },
  ],
  TokenPermissions: TOKEN_PERMISSIONS,
} as const

/** The type string that Permit2 is given for the witness of x402 and of MPP. */
export const MPP_WITNESS_TYPE =
  'PaymentWitness witness)PaymentWitness(bytes32 challengeHash,string externalId)TokenPermissions(address token,uint256 amount)'

const separators = new Map<string, Hex>()
/** A gateway accepts few tokens; more can only appear in payments that are refused later. */
const SEPARATORS_MAX = 64

/** Separators are the same for every payment with a token, and hashing them is half of the work. */
function separatorFor(domain: { name: string; version?: string; chainId: number; verifyingContract: Hex }): Hex {
  const key = `${domain.name}\n${domain.version ?? ''}\n${domain.chainId}\n${domain.verifyingContract}`
  const known = separators.get(key)
  if (known !== undefined) return known
  const types = { EIP712Domain: DOMAIN.filter(({ name }) => name !== 'version' || domain.version !== undefined) }
  const separator = hashStruct({ data: domain, primaryType: 'EIP712Domain', types })
  if (separators.size >= SEPARATORS_MAX) separators.clear()
  separators.set(key, separator)
  return separator
}

/** The EIP-712 digest that the payer signs. https://eips.ethereum.org/EIPS/eip-712 */
export function paymentDigest(payment: SignedPayment): Hex {
  return keccak256(concat(['0x1901', separatorOf(payment), structOf(payment)]))
}

function separatorOf(payment: SignedPayment): Hex {
  const { chainId } = payment
  if (payment.method !== 'eip3009')
    return separatorFor({ name: 'Permit2', chainId, verifyingContract: PERMIT2_ADDRESS })
  const { name, version, token } = payment
  return separatorFor({ name, version, chainId, verifyingContract: token })
}

function structOf(payment: SignedPayment): Hex {
  switch (payment.method) {
    case 'eip3009': {
      const { from, to, value, validAfter, validBefore, nonce } = payment
      const data = { from, to, value, validAfter, validBefore, nonce }
      return hashStruct({ data, primaryType: 'TransferWithAuthorization', types: EIP3009_TYPES })
    }
    case 'permit2': {
      const { token, value, spender, nonce, deadline, to, validAfter } = payment
      const data = { permitted: { token, amount: value }, spender, nonce, deadline, witness: { to, validAfter } }
      return hashStruct({ data, primaryType: 'PermitWitnessTransferFrom', types: PERMIT2_TYPES })
    }
    case 'mpp-permit2': {
      const { token, value, spender, nonce, deadline, challengeHash, externalId } = payment
      const permitted = { token, amount: value }
      const data = { permitted, spender, nonce, deadline, witness: { challengeHash, externalId } }
      return hashStruct({ data, primaryType: 'PermitWitnessTransferFrom', types: MPP_PERMIT2_TYPES })
    }
  }
}

/** The hash of an MPP payment's witness, as Permit2 is given it. */
export function paymentWitness({ challengeHash, externalId }: MppPermit2Payment): Hex {
  return hashStruct({ data: { challengeHash, externalId }, primaryType: 'PaymentWitness', types: MPP_PERMIT2_TYPES })
}

/** The reference of an MPP payment to its challenge: keccak256 of id and realm. */
export function challengeHash(id: string, realm: string): Hex {
  return keccak256(encodePacked(['bytes', 'bytes'], [stringToHex(id), stringToHex(realm)]))
}
