import { encodeEventTopics, encodeFunctionData, type Hex, numberToHex, parseAbi, type TransactionReceipt } from 'viem'
import type { Address } from '../../../contract/payments/address.ts'
import { type ChainClient, isRevert } from '../../chain/chainClient.ts'

/** The part of SettlementAnchor.sol that control calls; amounts are units. */
export const ANCHOR_ABI = parseAbi([
  'struct Batch { uint64 treeSize; uint64 receiptsFrom; uint64 receiptsTo; bytes32 root; bytes32 statement; uint128 chargedUnits; uint128 heldUnits; uint128 owedUnits; }',
  'function anchor(uint256 number, Batch content)',
  'function lastNumber() view returns (uint256)',
  'function batch(uint256 number) view returns (Batch content, uint256 anchoredAt)',
  'event Anchored(uint256 indexed number, uint64 treeSize, uint64 receiptsFrom, uint64 receiptsTo, bytes32 root, bytes32 statement, uint128 chargedUnits, uint128 heldUnits, uint128 owedUnits)',
])

const [ANCHORED_TOPIC] = encodeEventTopics({ abi: ANCHOR_ABI, eventName: 'Anchored' })

/** A batch as the contract has it. */
export interface AnchoredBatch {
  readonly treeSize: bigint
  readonly receiptsFrom: bigint
  readonly receiptsTo: bigint
  readonly root: Hex
  /** SHA-256. */
  readonly statement: Hex
  readonly chargedUnits: bigint
  readonly heldUnits: bigint
  readonly owedUnits: bigint
}

/** The call that anchors a batch. */
export function anchorCall(contract: Address, number: number, content: AnchoredBatch): { to: Address; data: Hex } {
  const args = [BigInt(number), content] as const
  return { to: contract, data: encodeFunctionData({ abi: ANCHOR_ABI, functionName: 'anchor', args }) }
}

/** Whether a transaction has anchored this batch: by its log, because a call to an address without code succeeds too. */
export function hasAnchored(receipt: TransactionReceipt, contract: Address, number: number): boolean {
  const topic = numberToHex(number, { size: 32 })
  const isAnchored = receipt.logs.some(
    (log) => log.address.toLowerCase() === contract && log.topics[0] === ANCHORED_TOPIC && log.topics[1] === topic,
  )
  return receipt.status === 'success' && isAnchored
}

/** The batch that a contract has under a number; undefined if it is missing. @throws errors of the node */
export async function anchoredBatch(
  chain: ChainClient,
  contract: Address,
  number: number,
): Promise<AnchoredBatch | undefined> {
  try {
    const args = [BigInt(number)] as const
    const [content] = await chain.readContract({ abi: ANCHOR_ABI, address: contract, functionName: 'batch', args })
    return content
  } catch (error) {
    if (isRevert(error)) return undefined
    throw error
  }
}
