import {
  type Account,
  type Address,
  createWalletClient,
  encodeDeployData,
  type Hex,
  http,
  parseAbi,
  publicActions,
} from 'viem'
import { contractCode } from './contractCodes.ts'

const CONSTRUCTOR = parseAbi(['constructor(address admin, address anchorer)'])

/** Who may do what with a SettlementAnchor contract. */
export interface AnchorRoles {
  /** May give and take roles. */
  readonly admin: Address
  /** May anchor batches. */
  readonly anchorer: Address
}

/** The init code of a SettlementAnchor contract. */
export function anchorInitCode({ admin, anchorer }: AnchorRoles): Hex {
  return encodeDeployData({ abi: CONSTRUCTOR, bytecode: contractCode('SettlementAnchor'), args: [admin, anchorer] })
}

/** A contract that was deployed. */
export interface Deployed {
  readonly address: Address
  readonly transaction: Hex
  readonly block: number
  readonly chainId: number
}

/**
 * Deploys a SettlementAnchor contract and waits until it is in a block.
 * @param account pays the gas; control must not send by it at the same time
 * @throws errors of the node; Error when the transaction fails
 */
export async function deployAnchor(
  rpcUrl: string,
  account: Account,
  roles: AnchorRoles,
  pollingMs?: number,
): Promise<Deployed> {
  const transport = http(rpcUrl)
  const client = createWalletClient({
    account,
    transport,
    ...(pollingMs !== undefined && { pollingInterval: pollingMs }),
  })
  const reader = client.extend(publicActions)
  const chainId = await reader.getChainId()
  const transaction = await client.sendTransaction({ chain: null, data: anchorInitCode(roles) })
  const { status, contractAddress, blockNumber } = await reader.waitForTransactionReceipt({ hash: transaction })
  if (status !== 'success' || !contractAddress) throw new Error(`the transaction ${transaction} deployed nothing`)
  return { address: contractAddress, transaction, block: Number(blockNumber), chainId }
}
