import { createChainClient } from '../../chain/chainClient.ts'
import type { PaymentsConfig } from '../../chain/paymentsConfig.ts'
import type { Holder } from './held.ts'
import type { ReserveLimits } from './limits.ts'
import type { ReserveChain } from './reading.ts'

/** Where tokens are held against the debts, by the operator's settings. */
export function reserveChain(config: PaymentsConfig, limits: ReserveLimits): ReserveChain {
  const { rpcUrl, chainId, assets, treasury, reserveVault } = config
  const vaults: Holder[] = reserveVault === null ? [] : [{ role: 'vault', address: reserveVault }]
  return {
    client: createChainClient(rpcUrl, limits),
    chainId,
    assets,
    holders: [{ role: 'treasury', address: treasury.address }, ...vaults],
  }
}
