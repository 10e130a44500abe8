import { getAddress } from 'viem/utils'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { type Address, networkOf, parseAddress } from '../../../contract/payments/address.ts'
import type { AssetId } from '../../../contract/payments/terms.ts'
import type { ReadHandler } from '../../api/call.ts'
import { payerCreditAccount } from '../../book/ledger/accounts.ts'
import { amountJson, coinPrice } from '../../catalog/pricing/coinAmounts.ts'
import type { PaymentsConfig } from '../../chain/paymentsConfig.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { type DepositParts, paymentsOf } from './depositHandlers.ts'
import { creditsOf } from './x402/payerCredits.ts'

const ASSETS: readonly AssetId[] = ['stablecoin', 'coin']

/** The public read of a wallet's credits. A wallet that never paid has none, like a wallet that has used its credits up. */
export function payerCreditHandlers(
  parts: Pick<DepositParts, 'pool' | 'payments'>,
): Record<'get_payer_credits', ReadHandler> {
  return {
    get_payer_credits: {
      read: async ({ params }) => {
        const { config } = paymentsOf(parts)
        const payer = parseAddress(params['address'])
        if (payer === undefined) throw new GatewayError('invalid_address', { param: 'address' })
        return { json: await creditsJson(parts.pool, config, payer) }
      },
    },
  }
}

async function creditsJson(pool: Pool, config: PaymentsConfig, payer: Address) {
  const { assets, chainId, refundMinUnits } = config
  const price = await coinPrice(pool)
  const all = ASSETS.map((asset) => ({ payer, asset }))
  const credits = await creditsOf(pool, all)
  return {
    object: 'payer_credits' as const,
    address: getAddress(payer),
    network: networkOf(chainId),
    refund_minimum: amountJson(refundMinUnits, price),
    credits: all.flatMap(({ asset }) => {
      const found = assets.find(({ id }) => id === asset)?.address
      const token = found === undefined ? null : getAddress(found)
      const units = credits.get(payerCreditAccount(payer, asset)) ?? 0
      // A token that is no longer accepted may still have left a credit.
      return token === null && units === 0 ? [] : [{ asset, token, ...amountJson(units, price) }]
    }),
  }
}
