import { readFileSync } from 'node:fs'
import type { Hex } from 'viem'

export type ContractName =
  | 'Coin'
  | 'Stablecoin'
  | 'ExactPermit2Proxy'
  | 'IdentityRegistry'
  | 'SettlementAnchor'
  | 'ScoinVault'
  | 'RewardDistributor'
  | 'LockTokens'
  | 'Wallet'
  | 'Permit2'

const codes = JSON.parse(readFileSync(new URL('../../../contracts/contracts.json', import.meta.url), 'utf8')) as Record<
  ContractName,
  Hex
>

/** The init code of a contract as scripts/contracts.mjs has compiled it; of ExactPermit2Proxy the code that runs. */
export function contractCode(name: ContractName): Hex {
  return codes[name]
}
