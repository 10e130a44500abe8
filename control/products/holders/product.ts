import type { Product } from '../../api/product.ts'
import type { ChainService } from '../../chain/chainService.ts'
import { listWallets } from '../../identity/wallets/wallets.ts'
import { allowPayoutAttempts } from './rewards/payoutRow.ts'
import { payoutOutcome, rootOutcome } from './rewards/payoutSender.ts'
import { rewardHandlers } from './rewards/rewardHandlers.ts'
import type { RewardTerms } from './rewards/rewardTerms.ts'
import { excludedHolders, startRevenue } from './startRevenue.ts'
import { vaultHandlers } from './vault/vaultHandlers.ts'
import { vestOutcome } from './vault/vaultKeeper.ts'

/** Shares of the revenue: rewards of the coin's holders, and the vault. */
export const HOLDERS: Product = {
  name: 'holders',
  outcomes: {
    reward: payoutOutcome('reward'),
    reward_root: rootOutcome,
    vault: payoutOutcome('vault'),
    vault_vest: vestOutcome,
  },
  onChain: startRevenue,
  allowAttempts: (client, id, limits) => allowPayoutAttempts(client, id, limits.payoutAttemptsMax),
  make: ({ pool: db, chain, limits }) => ({
    handlers: {
      ...rewardHandlers({ db, rewards: termsOf(chain), listWallets, limits }),
      ...vaultHandlers({ db, payments: chain, limits }),
    },
  }),
}

function termsOf(chain: ChainService | undefined): RewardTerms | undefined {
  if (chain === undefined) return undefined
  const { chainId, holders } = chain.config
  return { chainId, holders, excluded: excludedHolders(chain.config) }
}
