import { type Hex, pad } from 'viem'
import type { ChainClient } from '../../../chain/chainClient.ts'
import { readChain } from '../../../chain/chainClient.ts'
import { claimsOf, type ExpectedTransfer } from '../../../chain/outbox.ts'
import { TRANSFER_TOPIC } from '../../../chain/transferLog.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { PaymentsLimits } from '../limits.ts'

const CANDIDATES_MAX = 20

/** A transaction of another sender, and how many transfers like the expected one it makes. */
export interface ForeignSettlement {
  readonly hash: Hex
  readonly transfers: number
}

/** A payment whose transaction is sought. */
interface SoughtPayment {
  readonly transfer: ExpectedTransfer
  /** 32 bytes; undefined for a transfer without one, which is identified by its amount. */
  readonly nonce: Hex | undefined
  /** The block in which the payment was seen, so that a node without this block cannot answer. */
  readonly seenBlock: number
}

/**
 * Finds a transaction that made a payment although the gateway did not send it: any wallet may submit a signed payment, and
 * payers replace their own transactions with a higher fee. Searches the last blocks for a transaction that made the transfer,
 * with the authorization's nonce in its input. One transaction may make several payments; each transfer counts for one.
 * @throws GatewayError chain_unavailable
 */
export async function findForeignSettlement(
  db: Queryable,
  chain: ChainClient,
  { transfer, nonce, seenBlock }: SoughtPayment,
  limits: PaymentsLimits,
): Promise<ForeignSettlement | undefined> {
  const counts = await readChain(() => transfersOf(chain, transfer, seenBlock, limits))
  for (const [hash, transfers] of [...counts].slice(-CANDIDATES_MAX).reverse()) {
    if ((await claimsOf(db, hash, transfer)) >= transfers) continue
    if (nonce === undefined) return { hash, transfers }
    const transaction = await readChain(() => chain.getTransaction({ hash }))
    if (transaction.input.toLowerCase().includes(nonce.slice(2))) return { hash, transfers }
  }
  return undefined
}

/** The transactions that make a transfer, the oldest first, with the number of such transfers. */
async function transfersOf(
  chain: ChainClient,
  { token, from, to, amount }: ExpectedTransfer,
  seenBlock: number,
  limits: PaymentsLimits,
): Promise<ReadonlyMap<Hex, number>> {
  const head = await chain.getBlockNumber()
  const first = head - BigInt(limits.chainLookbackBlocks)
  const fromBlock = `0x${(first > 0n ? first : 0n).toString(16)}` as const
  const topics = [TRANSFER_TOPIC, pad(from), pad(to)]
  // In one request, so that one node answers both.
  const [logs, newest] = await Promise.all([
    chain.request({ method: 'eth_getLogs', params: [{ address: token, topics, fromBlock, toBlock: 'latest' }] }),
    chain.getBlockNumber(),
  ])
  if (newest < BigInt(seenBlock)) throw new Error(`the node has block ${newest} and not ${seenBlock} yet`)
  const counts = new Map<Hex, number>()
  for (const { transactionHash: hash, data } of logs) {
    if (hash !== null && data !== '0x' && BigInt(data) === amount) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  }
  return counts
}

/** Prefix of the replay key of a payment that is a transaction of the payer. */
export const TRANSACTION_KEY = 'transaction'

/** The 32 bytes of an authorization's nonce, from the replay key of its payment; undefined when it has none. */
export function nonceOf(replayKey: string): Hex | undefined {
  if (replayKey.startsWith(`${TRANSACTION_KEY}:`)) return undefined
  const nonce = replayKey.slice(replayKey.lastIndexOf(':') + 1)
  return nonce.startsWith('0x') ? (nonce as Hex) : pad(`0x${BigInt(nonce).toString(16)}`)
}
