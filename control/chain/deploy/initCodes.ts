import { type Address, encodeDeployData, type Hex, parseAbi } from 'viem'
import { contractCode } from './contractCodes.ts'

const ANCHOR = parseAbi(['constructor(address admin, address anchorer)'])
const VAULT = parseAbi(['constructor(address coin, string name, string symbol, uint256 vestSeconds)'])
const DISTRIBUTOR = parseAbi(['constructor(address coin, address admin, address publisher)'])
const LOCK_TOKENS = parseAbi(['constructor(address minter)'])

/** The roles of a SettlementAnchor contract. */
export interface AnchorRoles {
  /** May grant and revoke roles. */
  readonly admin: Address
  /** May anchor batches. */
  readonly anchorer: Address
}

/** The constructor arguments of a ScoinVault contract. */
export interface VaultParts {
  readonly coin: Address
  /** Of its shares. */
  readonly name: string
  readonly symbol: string
  /** Over which revenue vests. */
  readonly vestSeconds: number
}

/** The coin and the roles of a RewardDistributor contract. */
export interface DistributorRoles {
  readonly coin: Address
  /** May grant and revoke roles. */
  readonly admin: Address
  /** May publish periods. */
  readonly publisher: Address
}

/** The init code of a SettlementAnchor contract. */
export function anchorInitCode({ admin, anchorer }: AnchorRoles): Hex {
  return encodeDeployData({ abi: ANCHOR, bytecode: contractCode('SettlementAnchor'), args: [admin, anchorer] })
}

/** The init code of a ScoinVault contract. */
export function vaultInitCode({ coin, name, symbol, vestSeconds }: VaultParts): Hex {
  const args = [coin, name, symbol, BigInt(vestSeconds)] as const
  return encodeDeployData({ abi: VAULT, bytecode: contractCode('ScoinVault'), args })
}

/** The init code of a RewardDistributor contract. */
export function distributorInitCode({ coin, admin, publisher }: DistributorRoles): Hex {
  const args = [coin, admin, publisher] as const
  return encodeDeployData({ abi: DISTRIBUTOR, bytecode: contractCode('RewardDistributor'), args })
}

/** The init code of a LockTokens contract. @param minter the treasury, which alone can mint */
export function lockTokensInitCode(minter: Address): Hex {
  return encodeDeployData({ abi: LOCK_TOKENS, bytecode: contractCode('LockTokens'), args: [minter] })
}
