import { x402Client } from '@x402/core/client'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import type { Payer, TestChain } from '../chain.ts'

/** What a test asks for, as a server of x402 offers it. */
export function requirementsFor(
  chain: TestChain,
  asset: 'coin' | 'stablecoin',
  amount: bigint,
  changes: Partial<PaymentRequirements> = {},
): PaymentRequirements {
  const extra =
    asset === 'coin'
      ? { name: 'Demo Coin', version: '1', assetTransferMethod: 'permit2' }
      : { name: 'USD Coin', version: '2' }
  return {
    scheme: 'exact',
    network: `eip155:${chain.chainId}`,
    amount: amount.toString(),
    asset: chain.contracts[asset],
    payTo: chain.treasury.address,
    maxTimeoutSeconds: 120,
    extra,
    ...changes,
  }
}

/** The payment that the reference client makes for an offer. */
export function signPayment(payer: Payer, requirements: PaymentRequirements): Promise<PaymentPayload> {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer as never)).setSpendControls(false)
  return client.createPaymentPayload({
    x402Version: 2,
    resource: { url: 'http://127.0.0.1/x402/v1/chat/completions' },
    accepts: [requirements],
  })
}
