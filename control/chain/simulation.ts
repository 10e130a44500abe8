import { type ErrorCode, GatewayError } from '../../contract/errors/errors.ts'
import type { Address } from '../../contract/payments/address.ts'
import { PERMIT2_ADDRESS } from '../../contract/payments/addresses.ts'
import type { SignedPayment } from '../../contract/payments/signedPayment.ts'
import type { ChainClient } from './chainClient.ts'
import { chainUnavailable, isRevert, readChain } from './chainClient.ts'
import type { ChainLimits } from './limits.ts'
import { PAYMENT_ABI, settlementCall } from './settlementCall.ts'

/** Margin above the gas of a simulation: storage may differ in another block. */
const GAS_MARGIN = { numerator: 5n, denominator: 4n }
const NONCES_PER_WORD_BITS = 8n

/** The result of simulating a payment on the chain before sending: the gas that it takes, or why it would fail. */
export type Simulation =
  | { readonly gas: bigint }
  | {
      readonly refusal: Extract<
        ErrorCode,
        'authorization_used' | 'insufficient_funds' | 'allowance_required' | 'payment_invalid'
      >
      /** The newest block when that was seen. */
      readonly block: number
    }

/**
 * Simulates the settlement of a payment.
 * @param sender of the transaction
 * @throws GatewayError chain_unavailable
 */
export async function simulatePayment(
  chain: ChainClient,
  payment: SignedPayment,
  sender: Address,
  limits: ChainLimits,
): Promise<Simulation> {
  const gas = await estimateGas(chain, sender, settlementCall(payment), limits)
  return gas === undefined ? refusalOf(chain, payment) : { gas }
}

/**
 * The gas that a call takes, with a margin.
 * @param blockNumber the block whose state it is estimated on; the newest one when absent
 * @returns undefined when the call reverts
 * @throws GatewayError chain_unavailable
 */
export async function estimateGas(
  chain: ChainClient,
  sender: Address,
  call: { to: Address; data: `0x${string}` },
  limits: ChainLimits,
  blockNumber?: bigint,
): Promise<bigint | undefined> {
  try {
    const gas = await chain.estimateGas({ account: sender, ...call, ...(blockNumber !== undefined && { blockNumber }) })
    const withMargin = (gas * GAS_MARGIN.numerator) / GAS_MARGIN.denominator
    return withMargin > BigInt(limits.gasPerTransactionMax) ? undefined : withMargin
  } catch (error) {
    if (isRevert(error)) return undefined
    throw chainUnavailable(error)
  }
}

/** Why a settlement is refused: used, no money, no allowance, else not valid. */
async function refusalOf(
  chain: ChainClient,
  payment: SignedPayment,
): Promise<Extract<Simulation, { refusal: unknown }>> {
  const { token, from, value } = payment
  const read = { abi: PAYMENT_ABI, address: token } as const
  const [used, balance, allowance, newest] = await readChain(() =>
    Promise.all([
      isUsed(chain, payment),
      chain.readContract({ ...read, functionName: 'balanceOf', args: [from] }),
      payment.method === 'eip3009'
        ? value
        : chain.readContract({ ...read, functionName: 'allowance', args: [from, PERMIT2_ADDRESS] }),
      chain.getBlockNumber(),
    ]),
  )
  const block = Number(newest)
  if (used) return { refusal: 'authorization_used', block }
  if (balance < value) return { refusal: 'insufficient_funds', block }
  return { refusal: allowance < value ? 'allowance_required' : 'payment_invalid', block }
}

/** Whether the chain has seen a payment's nonce. */
async function isUsed(chain: ChainClient, payment: SignedPayment): Promise<boolean> {
  if (payment.method === 'eip3009') {
    return chain.readContract({
      abi: PAYMENT_ABI,
      address: payment.token,
      functionName: 'authorizationState',
      args: [payment.from, payment.nonce],
    })
  }
  const word = await chain.readContract({
    abi: PAYMENT_ABI,
    address: PERMIT2_ADDRESS,
    functionName: 'nonceBitmap',
    args: [payment.from, payment.nonce >> NONCES_PER_WORD_BITS],
  })
  return ((word >> (payment.nonce & 255n)) & 1n) === 1n
}

/** The error for a refusal of the chain. */
export function refusalError(
  refusal: Extract<Simulation, { refusal: unknown }>['refusal'],
  limits: ChainLimits,
): GatewayError {
  const retryAfterSeconds = Math.ceil(limits.paymentRefusalMs / 1_000)
  const waits = refusal === 'insufficient_funds' || refusal === 'allowance_required'
  return new GatewayError(refusal, waits ? { retryAfterSeconds } : {})
}
