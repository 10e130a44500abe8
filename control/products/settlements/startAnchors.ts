import type { ChainOptions, ChainParts } from '../../chain/chainParts.ts'
import { AnchorKeeper } from './anchorKeeper.ts'

/** Begins to make and anchor settlement batches. @returns undefined where the operator has named no contract */
export function startAnchors(options: ChainOptions, parts: ChainParts): AnchorKeeper | undefined {
  const { config, pool, log, coinUsdUnits, limits } = options
  const { chainId, assets, settlementAnchor: contract, settlementIntervalSeconds: intervalSeconds } = config
  if (contract === null) return undefined
  const { settlementAccountsMin: accountsMin } = config
  const [anchorer] = config.relayers
  const treasury = config.treasury.address
  const common = { pool, chainId, log, limits, coinUsdUnits, ...parts }
  return new AnchorKeeper({ ...common, treasury, assets, contract, anchorer, intervalSeconds, accountsMin })
}
