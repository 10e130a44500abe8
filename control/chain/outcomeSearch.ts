import { type Hex, pad, type RpcLog } from 'viem'
import { type ChainClient, findTransaction } from './chainClient.ts'
import type { ChainLimits } from './limits.ts'
import type { ExpectedTransfer } from './outbox.ts'
import type { TransactionRow } from './transactionRow.ts'
import { isTransfer, TRANSFER_TOPIC } from './transferLog.ts'

/** The block of a transaction that made its transfer. */
export interface MadeTransfer {
  readonly kind: 'made'
  readonly hash: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
}

/**
 * The traces on a node of a transaction that it has no receipt of: the transfer; a block that has the transaction, without the
 * transfer, which a node that prunes may have forgotten; or neither.
 */
export type Finding = MadeTransfer | { readonly kind: 'included' } | { readonly kind: 'absent' }

/**
 * Looks for the outcome of a transaction that has no receipt, in the logs of the transfer and by every signed form of it.
 * An absent receipt proves nothing: nodes prune receipts, and of two nodes behind one address one may lag behind.
 * @throws errors of the node, also when it does not have the blocks that are searched
 */
export async function searchOutcome(chain: ChainClient, row: TransactionRow, limits: ChainLimits): Promise<Finding> {
  const [head, ...found] = await Promise.all([
    chain.getBlockNumber(),
    ...row.attempts.map(({ hash }) => findTransaction(chain, hash)),
  ])
  if (row.transfer !== undefined) {
    const made = await searchTransfer(chain, row, row.transfer, Number(head), limits)
    if (made !== undefined) return made
  }
  const isIncluded = found.some((transaction) => typeof transaction?.blockNumber === 'bigint')
  return { kind: isIncluded ? 'included' : 'absent' }
}

/** Reads the newest blocks first, because the transaction is seldom long ago. */
async function searchTransfer(
  chain: ChainClient,
  { attempts, sinceBlock }: TransactionRow,
  transfer: ExpectedTransfer,
  head: number,
  limits: ChainLimits,
): Promise<MadeTransfer | undefined> {
  const hashes = new Set<string>(attempts.map(({ hash }) => hash))
  const first = Math.max(sinceBlock, head - limits.chainSearchBlocksMax + 1, 0)
  for (let last = head; last >= first; last -= limits.chainScanBlocksMax) {
    const logs = await transferLogs(chain, transfer, Math.max(first, last - limits.chainScanBlocksMax + 1), last)
    const log = logs.find((one) => hashes.has(one.transactionHash ?? '') && isTransfer(one, transfer))
    if (log?.transactionHash && log.blockNumber !== null && log.blockHash !== null) {
      return { kind: 'made', hash: log.transactionHash, blockNumber: Number(log.blockNumber), blockHash: log.blockHash }
    }
  }
  return undefined
}

/** @throws when the node does not have the last of the blocks */
async function transferLogs(
  chain: ChainClient,
  { token, from, to }: ExpectedTransfer,
  first: number,
  last: number,
): Promise<RpcLog[]> {
  const [fromBlock, toBlock] = [first, last].map((block) => `0x${block.toString(16)}` as const)
  const topics = [TRANSFER_TOPIC, pad(from), pad(to)]
  const [logs] = await Promise.all([
    chain.request({ method: 'eth_getLogs', params: [{ address: token, topics, fromBlock, toBlock }] }),
    // In the same request, so that the same node answers: a node omits logs of blocks that it does not have.
    chain.getBlock({ blockNumber: BigInt(last) }),
  ])
  return logs
}
