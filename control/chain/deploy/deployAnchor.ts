import { type Account, type Address, encodeDeployData, type Hex, parseAbi } from 'viem'
import { contractCode } from './contractCodes.ts'
import { type Deployed, deployBy } from './deployBy.ts'

const CONSTRUCTOR = parseAbi(['constructor(address admin, address anchorer)'])

/** The roles of a SettlementAnchor contract. */
export interface AnchorRoles {
  /** May grant and revoke roles. */
  readonly admin: Address
  /** May anchor batches. */
  readonly anchorer: Address
}

/** The init code of a SettlementAnchor contract. */
export function anchorInitCode({ admin, anchorer }: AnchorRoles): Hex {
  return encodeDeployData({ abi: CONSTRUCTOR, bytecode: contractCode('SettlementAnchor'), args: [admin, anchorer] })
}

/** Deploys a SettlementAnchor contract, as `deployBy` does. */
export function deployAnchor(
  rpcUrl: string,
  account: Account,
  roles: AnchorRoles,
  pollingMs?: number,
): Promise<Deployed> {
  return deployBy(rpcUrl, account, anchorInitCode(roles), pollingMs)
}
