import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import type { Redis } from '../../../../contract/wire/redis.ts'
import type { PaymentsLimits } from '../limits.ts'

const keyOf = (token: Address, payer: Address): string => `refused:${token}:${payer}`

/**
 * Refuses a wallet that could not fund a payment a moment ago, in that token, so that it does not have the chain asked
 * again and again.
 * @throws GatewayError insufficient_funds
 */
export async function refuseRecentlyRefused(redis: Redis, token: Address, payer: Address): Promise<void> {
  const leftMs = await redis.pttl(keyOf(token, payer))
  if (leftMs <= 0) return
  throw new GatewayError('insufficient_funds', {
    message:
      'This wallet could not fund a payment in this token a moment ago; fix that and pay again after Retry-After seconds.',
    retryAfterSeconds: Math.ceil(leftMs / 1_000),
  })
}

/** Remembers that a wallet could not fund a payment, for limits.paymentRefusalMs. */
export async function rememberRefused(
  redis: Redis,
  token: Address,
  payer: Address,
  limits: PaymentsLimits,
): Promise<void> {
  await redis.set(keyOf(token, payer), '1', 'PX', limits.paymentRefusalMs)
}
