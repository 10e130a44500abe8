import { type Hex, pad, type RpcLog, toHex } from 'viem'
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
  /** The newest block when its own transaction was stored; null where it has none. */
  readonly sinceBlock: number | null
}

/**
 * Finds a transaction that made a payment although the gateway did not send it: any wallet may submit a signed payment, and
 * payers replace their own transactions with a higher fee. Searches the last blocks, and those since its own transaction was
 * stored, for a transaction that made the transfer, with the authorization's nonce in its input. One transaction may make
 * several payments; each transfer counts for one.
 * @throws GatewayError chain_unavailable
 */
export async function findForeignSettlement(
  db: Queryable,
  chain: ChainClient,
  sought: SoughtPayment,
  limits: PaymentsLimits,
): Promise<ForeignSettlement | undefined> {
  const { transfer, nonce } = sought
  const counts = await readChain(() => transfersOf(chain, sought, limits))
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
  { transfer, seenBlock, sinceBlock }: SoughtPayment,
  limits: PaymentsLimits,
): Promise<ReadonlyMap<Hex, number>> {
  const { chainLookbackBlocks: lookback, chainScanBlocksMax: most, chainSearchBlocksMax: searched } = limits
  const head = Number(await chain.getBlockNumber())
  const recent = Math.max(head - lookback, 0)
  // A node that was asked then may have been behind.
  const first = Math.max(Math.min(recent, (sinceBlock ?? head) - lookback), head - searched, 0)
  const counts = new Map<Hex, number>()
  const count = async (from: number, to: number | 'latest') => {
    for (const { transactionHash: hash, data } of await logsOf(chain, transfer, from, to, seenBlock)) {
      if (hash !== null && data !== '0x' && BigInt(data) === transfer.amount)
        counts.set(hash, (counts.get(hash) ?? 0) + 1)
    }
  }
  for (let from = first; from < recent; from += most) await count(from, Math.min(from + most, recent) - 1)
  await count(recent, 'latest')
  return counts
}

/** @throws when the node does not have the last of the blocks */
async function logsOf(
  chain: ChainClient,
  { token, from, to }: ExpectedTransfer,
  first: number,
  last: number | 'latest',
  seenBlock: number,
): Promise<RpcLog[]> {
  const [fromBlock, toBlock] = [toHex(first), last === 'latest' ? last : toHex(last)]
  const topics = [TRANSFER_TOPIC, pad(from), pad(to)]
  // In one request, so that one node answers both.
  const [logs, newest] = await Promise.all([
    chain.request({ method: 'eth_getLogs', params: [{ address: token, topics, fromBlock, toBlock }] }),
    chain.getBlockNumber(),
  ])
  const needed = last === 'latest' ? seenBlock : Math.max(seenBlock, last)
  if (newest < BigInt(needed)) throw new Error(`the node has block ${newest} and not ${needed} yet`)
  return logs
}

/** Prefix of the replay key of a payment that is a transaction of the payer. */
export const TRANSACTION_KEY = 'transaction'

/** The 32 bytes of an authorization's nonce, from the replay key of its payment; undefined when it has none. */
export function nonceOf(replayKey: string): Hex | undefined {
  if (replayKey.startsWith(`${TRANSACTION_KEY}:`)) return undefined
  const nonce = replayKey.slice(replayKey.lastIndexOf(':') + 1)
  return nonce.startsWith('0x') ? (nonce as Hex) : pad(`0x${BigInt(nonce).toString(16)}`)
}
