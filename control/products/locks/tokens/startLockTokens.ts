import type { Address } from '../../../../contract/payments/address.ts'
import type { ChainOptions, ChainParts } from '../../../chain/chainParts.ts'
import { LockMinter } from './lockMinter.ts'
import { RedemptionScanner } from './redemptionScanner.ts'

/** Tokens of compute locks on the chain. */
export interface LockTokens {
  readonly contract: Address
  readonly minter: LockMinter
  stop(): Promise<unknown>
}

/** Begins to mint and to credit tokens of compute locks. @returns undefined where the operator has named no contract */
export function startLockTokens(options: ChainOptions, parts: ChainParts): LockTokens | undefined {
  const { config, pool, log, limits, accountOfWallet } = options
  const { chainId, treasury: sender, lockTokens: contract, depositConfirmations: confirmations, finalBlocks } = config
  if (contract === null) return undefined
  const minter = new LockMinter({ pool, chainId, sender, log, limits, ...parts })
  const { chain } = parts
  const scanner = new RedemptionScanner({
    pool,
    chain,
    contract,
    confirmations,
    finalBlocks,
    accountOfWallet,
    log,
    limits,
  })
  return { contract, minter, stop: () => Promise.all([minter.stop(), scanner.stop()]) }
}
