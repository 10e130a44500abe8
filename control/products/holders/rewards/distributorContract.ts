import { encodeEventTopics, encodeFunctionData, type Hex, numberToHex, parseAbi, type TransactionReceipt } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'

/** The part of RewardDistributor.sol that control and claimants call; amounts are the smallest units of the coin. */
export const DISTRIBUTOR_ABI = parseAbi([
  'struct Period { bytes32 root; uint256 total; uint256 claimed; }',
  'function publish(uint256 number, bytes32 root, uint256 total)',
  'function claim(uint256 number, address account, uint256 amount, bytes32[] proof)',
  'function lastNumber() view returns (uint256)',
  'function unclaimed() view returns (uint256)',
  'function isClaimed(uint256 number, address account) view returns (bool)',
  'function period(uint256 number) view returns (Period)',
  'event Published(uint256 indexed number, bytes32 root, uint256 total)',
  'event Claimed(uint256 indexed number, address indexed account, uint256 amount)',
])

const [PUBLISHED_TOPIC] = encodeEventTopics({ abi: DISTRIBUTOR_ABI, eventName: 'Published' })
export const [CLAIMED_TOPIC] = encodeEventTopics({ abi: DISTRIBUTOR_ABI, eventName: 'Claimed' })

/** The call that publishes the root of a period. @param total of all its leaves */
export function publishCall(contract: Address, number: number, root: Hex, total: bigint): { to: Address; data: Hex } {
  const args = [BigInt(number), root, total] as const
  return { to: contract, data: encodeFunctionData({ abi: DISTRIBUTOR_ABI, functionName: 'publish', args }) }
}

/** Whether a transaction has published this period: the contract's log shows it. */
export function hasPublished(receipt: TransactionReceipt, contract: Address, number: number): boolean {
  const topic = numberToHex(number, { size: 32 })
  const isLogged = receipt.logs.some(
    (log) => log.address.toLowerCase() === contract && log.topics[0] === PUBLISHED_TOPIC && log.topics[1] === topic,
  )
  return receipt.status === 'success' && isLogged
}
