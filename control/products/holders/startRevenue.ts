import { zeroAddress } from 'viem'
import type { Address } from '../../../contract/payments/address.ts'
import type { ChainOptions, ChainParts } from '../../chain/chainParts.ts'
import type { PaymentsConfig } from '../../chain/paymentsConfig.ts'
import type { Loop } from '../../runtime/loop.ts'
import { HolderScanner } from './rewards/holderScanner.ts'
import { PayoutSender } from './rewards/payoutSender.ts'
import { revenueKeeper } from './rewards/revenueKeeper.ts'
import { VaultKeeper } from './vault/vaultKeeper.ts'

/** Addresses that get no rewards, by their role and as the operator has named them. */
export function excludedHolders({ treasury, holders }: Pick<PaymentsConfig, 'treasury' | 'holders'>): Address[] {
  const own = [zeroAddress, treasury.address, holders?.coin.address, holders?.vault, holders?.distributor]
  return [...new Set([...own.flatMap((address) => address ?? []), ...(holders?.excluded ?? [])])].sort()
}

/** Begins to share revenue out. @returns undefined where the operator has named neither a vault nor a distributor */
export function startRevenue(options: ChainOptions, parts: ChainParts): Loop | undefined {
  const { config, pool, log, limits, accountsOfWallets, coinUsdUnits } = options
  const { holders: settings, treasury, chainId, depositConfirmations: confirmations } = config
  if (settings === null) return undefined
  const [relayer] = config.relayers
  const common = { pool, chainId, log, limits, ...parts }
  const { distributor, vault, token, fromBlock } = settings
  const scanner =
    distributor === null
      ? undefined
      : new HolderScanner({ pool, chain: parts.chain, token, distributor, fromBlock, confirmations, limits })
  const vaultKeeper = vault === null ? undefined : new VaultKeeper({ ...common, vault, sender: relayer })
  return revenueKeeper({
    pool,
    log,
    limits,
    settings,
    accountsOfWallets,
    coinUsdUnits,
    scanner,
    excluded: excludedHolders(config),
    sender: new PayoutSender({ ...common, treasury, publisher: relayer }),
    keepVault: vaultKeeper && (() => vaultKeeper.keep()),
  })
}
