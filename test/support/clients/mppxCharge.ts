import { evm } from 'mppx/client'
import type { Payer } from '../chain.ts'
import type { PaidStack } from '../paidStack.ts'

/** How the official client of MPP pays: in the stablecoin of the stack's chain. */
export function mppxCharge({ chain }: PaidStack, payer: Payer): ReturnType<typeof evm.charge> {
  return evm.charge({
    account: payer,
    currencies: [chain.contracts.stablecoin],
    networks: [chain.chainId],
    authorization: { name: 'USD Coin', version: '2' },
    decimals: 6,
  } as never)
}
