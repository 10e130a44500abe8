import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { Address } from '../../contract/payments/address.ts'
import { EXACT_PROXY_ADDRESS, PERMIT2_ADDRESS } from '../../contract/payments/addresses.ts'
import type { SignedPayment } from '../../contract/payments/signedPayment.ts'
import { MPP_WITNESS_TYPE, paymentWitness } from '../../contract/payments/typedData.ts'

/** Functions of tokens, of Permit2 and of its spender that make payments, or report why a payment cannot be made. */
export const PAYMENT_ABI = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function balanceOf(address account) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function symbol() view returns (string)',
  'function nonceBitmap(address owner, uint256 word) view returns (uint256)',
  'struct TokenPermissions { address token; uint256 amount; }',
  'struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
  'struct Witness { address to; uint256 validAfter; }',
  'struct Details { address to; uint256 requestedAmount; }',
  'function settle(Permit permit, address owner, Witness witness, bytes signature)',
  'function permitWitnessTransferFrom(Permit permit, Details details, address owner, bytes32 witness, string witnessType, bytes signature)',
])

const KEY_SIGNATURE_LENGTH = 2 + 65 * 2

/** The call that makes a payment's transfer; its sender pays the gas. */
export function settlementCall(payment: SignedPayment): { to: Address; data: Hex } {
  switch (payment.method) {
    case 'eip3009':
      return { to: payment.token, data: eip3009Data(payment) }
    case 'permit2': {
      const { token, value, nonce, deadline, from, to, validAfter, signature } = payment
      const permit = { permitted: { token, amount: value }, nonce, deadline }
      const args = [permit, from, { to, validAfter }, signature] as const
      return { to: EXACT_PROXY_ADDRESS, data: encodeFunctionData({ abi: PAYMENT_ABI, functionName: 'settle', args }) }
    }
    case 'mpp-permit2': {
      const { token, value, nonce, deadline, from, to, signature } = payment
      const permit = { permitted: { token, amount: value }, nonce, deadline }
      const details = { to, requestedAmount: value }
      const args = [permit, details, from, paymentWitness(payment), MPP_WITNESS_TYPE, signature] as const
      const functionName = 'permitWitnessTransferFrom'
      return { to: PERMIT2_ADDRESS, data: encodeFunctionData({ abi: PAYMENT_ABI, functionName, args }) }
    }
  }
}

/** Older tokens only know the form with v, r and s, which is for signatures of keys. */
function eip3009Data(payment: Extract<SignedPayment, { method: 'eip3009' }>): Hex {
  const { from, to, value, validAfter, validBefore, nonce, signature } = payment
  const head = [from, to, value, validAfter, validBefore, nonce] as const
  const functionName = 'transferWithAuthorization'
  if (signature.length !== KEY_SIGNATURE_LENGTH) {
    return encodeFunctionData({ abi: PAYMENT_ABI, functionName, args: [...head, signature] })
  }
  const r = signature.slice(0, 66) as Hex
  const s = `0x${signature.slice(66, 130)}` as const
  return encodeFunctionData({
    abi: PAYMENT_ABI,
    functionName,
    args: [...head, Number.parseInt(signature.slice(130), 16), r, s],
  })
}

/** The call that sends tokens of the caller's own. */
export function transferCall(token: Address, to: Address, amount: bigint): { to: Address; data: Hex } {
  return { to: token, data: encodeFunctionData({ abi: PAYMENT_ABI, functionName: 'transfer', args: [to, amount] }) }
}
