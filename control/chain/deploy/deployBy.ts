import { type Account, type Address, createWalletClient, type Hex, http, publicActions } from 'viem'

/** A contract that was deployed. */
export interface Deployed {
  readonly address: Address
  readonly transaction: Hex
  readonly block: number
  readonly chainId: number
}

/**
 * Deploys a contract and waits until it is in a block.
 * @param account pays the gas; control must not send by it at the same time
 * @param data its init code
 * @throws errors of the node; Error when the transaction fails
 */
export async function deployBy(rpcUrl: string, account: Account, data: Hex, pollingMs?: number): Promise<Deployed> {
  const transport = http(rpcUrl)
  const client = createWalletClient({
    account,
    transport,
    ...(pollingMs !== undefined && { pollingInterval: pollingMs }),
  })
  const reader = client.extend(publicActions)
  const chainId = await reader.getChainId()
  const transaction = await client.sendTransaction({ chain: null, data })
  const { status, contractAddress, blockNumber } = await reader.waitForTransactionReceipt({ hash: transaction })
  if (status !== 'success' || !contractAddress) throw new Error(`the transaction ${transaction} deployed nothing`)
  return { address: contractAddress, transaction, block: Number(blockNumber), chainId }
}
