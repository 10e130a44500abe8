import { encodeEventTopics, encodeFunctionData, parseAbi, type TransactionReceipt } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'
import { type ChainClient, readChain } from '../../../chain/chainClient.ts'

/** The part of ScoinVault.sol that control reads and calls; ERC-4626 and the contract's own functions. */
export const VAULT_ABI = parseAbi([
  'function asset() view returns (address)',
  'function decimals() view returns (uint8)',
  'function totalAssets() view returns (uint256)',
  'function totalSupply() view returns (uint256)',
  'function convertToAssets(uint256 shares) view returns (uint256)',
  'function unvested() view returns (uint256)',
  'function pendingRevenue() view returns (uint256)',
  'function vestUntil() view returns (uint256)',
  'function vestSeconds() view returns (uint256)',
  'function vestRevenue() returns (uint256)',
  'event RevenueReceived(uint256 assets, uint256 vestsUntil)',
])

const [RECEIVED_TOPIC] = encodeEventTopics({ abi: VAULT_ABI, eventName: 'RevenueReceived' })

/** A vault at one block; amounts are the smallest units of the coin, or of shares. */
export interface VaultState {
  readonly block: number
  /** Seconds since 1970. */
  readonly blockTime: number
  readonly shareDecimals: number
  readonly totalAssets: bigint
  readonly totalSupply: bigint
  /** The worth of a whole share. */
  readonly price: bigint
  /** Revenue that vests, the end of vesting (seconds since 1970), and revenue that arrived and does not vest yet. */
  readonly unvested: bigint
  readonly vestUntil: number
  readonly vestSeconds: number
  readonly pending: bigint
}

/** Reads all of a vault at the newest block. @throws GatewayError chain_unavailable, also where there is no vault */
export function readVault(chain: ChainClient, address: Address): Promise<VaultState> {
  return readChain(async () => {
    const block = await chain.getBlock()
    const at = { abi: VAULT_ABI, address, blockNumber: block.number } as const
    const [shareDecimals, totalAssets, totalSupply, unvested, vestUntil, vestSeconds, pending] = await Promise.all([
      chain.readContract({ ...at, functionName: 'decimals' }),
      chain.readContract({ ...at, functionName: 'totalAssets' }),
      chain.readContract({ ...at, functionName: 'totalSupply' }),
      chain.readContract({ ...at, functionName: 'unvested' }),
      chain.readContract({ ...at, functionName: 'vestUntil' }),
      chain.readContract({ ...at, functionName: 'vestSeconds' }),
      chain.readContract({ ...at, functionName: 'pendingRevenue' }),
    ])
    const args = [10n ** BigInt(shareDecimals)] as const
    const price = await chain.readContract({ ...at, functionName: 'convertToAssets', args })
    return {
      block: Number(block.number),
      blockTime: Number(block.timestamp),
      shareDecimals,
      totalAssets,
      totalSupply,
      price,
      unvested,
      pending,
      vestUntil: Number(vestUntil),
      vestSeconds: Number(vestSeconds),
    }
  })
}

/** The call that has revenue vest which arrived. */
export const vestCall = (vault: Address) => ({
  to: vault,
  data: encodeFunctionData({ abi: VAULT_ABI, functionName: 'vestRevenue' }),
})

/** Whether a transaction started the vesting of revenue: the vault's log shows it. */
export function hasVested(receipt: TransactionReceipt, vault: Address): boolean {
  const isLogged = receipt.logs.some((log) => log.address.toLowerCase() === vault && log.topics[0] === RECEIVED_TOPIC)
  return receipt.status === 'success' && isLogged
}
