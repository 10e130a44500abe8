import {
  createPublicClient,
  custom,
  decodeFunctionData,
  type Hex,
  keccak256,
  pad,
  parseTransaction,
  stringToHex,
  toHex,
} from 'viem'
import type { ChainClient } from '../../../control/chain/chainClient.ts'
import { PAYMENT_ABI } from '../../../control/chain/settlementCall.ts'
import { TRANSFER_TOPIC } from '../../../control/chain/transferLog.ts'

const GWEI = 1_000_000_000n
const GAS = 60_000n

interface SimulatedTransaction {
  readonly hash: Hex
  readonly nonce: number
  readonly maxFeePerGas: bigint
  /** Absent for a transaction that moves no tokens. */
  readonly transfer: { readonly token: Hex; readonly to: Hex; readonly amount: bigint } | undefined
}

interface SimulatedBlock {
  readonly number: number
  readonly hash: Hex
  readonly transactions: readonly SimulatedTransaction[]
}

/** What the two nodes behind the one address keep to themselves. */
export interface Lies {
  /** Blocks by which the second node is behind. */
  readonly lagBlocks: number
  /** Receipts are answered only for blocks that are so deep. */
  readonly receiptsLateBlocks: number
  /** Receipts are answered only for so many of the newest blocks. */
  readonly receiptsKeptBlocks: number
  /** Every so-many-th receipt is missing; 0 for none. */
  readonly receiptsMissingEvery: number
  /** Which node answers: one, the other, or by turns. */
  readonly answering: 'first' | 'second' | 'turns'
}

export const HONEST: Lies = {
  lagBlocks: 0,
  receiptsLateBlocks: 0,
  receiptsKeptBlocks: Number.MAX_SAFE_INTEGER,
  receiptsMissingEvery: 0,
  answering: 'first',
}

type Call = (params: readonly never[], node: Node) => unknown

/** The part of the chain that a node has. */
interface Node {
  readonly head: number
}

/**
 * A chain with one sender whose nodes leave out what they are told to. What it says of blocks, nonces and logs is consistent
 * within the calls that are made at once, as a node answers a batch.
 */
export class LyingChain {
  readonly client: ChainClient
  lies: Lies = HONEST
  baseFee = GWEI
  /** Calls that were answered. */
  calls = 0
  private readonly sender: Hex
  private blocks: SimulatedBlock[] = []
  private pool: SimulatedTransaction[] = []
  private readonly known = new Map<Hex, SimulatedTransaction>()
  private forks = 0
  private minedNonces = 0
  private receipts = 0
  private turns = 0
  private batch: Node | undefined

  constructor(sender: Hex, chainId: number) {
    this.sender = sender
    this.mine(1)
    const methods = this.methods(chainId)
    const request = async ({ method, params }: { method: string; params?: unknown }): Promise<unknown> => {
      const call = methods[method]
      if (call === undefined) throw new Error(`the simulated chain has no ${method}`)
      this.calls++
      return call((params ?? []) as readonly never[], this.node())
    }
    this.client = createPublicClient({ transport: custom({ request }, { retryCount: 0 }), cacheTime: 0 })
  }

  get head(): number {
    return this.blocks.length - 1
  }

  /** Transfers that the chain shows to a wallet. */
  paidTo(wallet: string): number {
    return this.blocks.flatMap(({ transactions }) => transactions).filter(({ transfer }) => transfer?.to === wallet)
      .length
  }

  /** Whether the chain has a transaction. */
  has(hash: string): boolean {
    return this.blocks.some(({ transactions }) => transactions.some((one) => one.hash === hash))
  }

  /** Makes blocks, with what waits and pays enough. */
  mine(count: number): void {
    for (let made = 0; made < count; made++) {
      const transactions: SimulatedTransaction[] = []
      for (let next = this.take(); next !== undefined; next = this.take()) {
        transactions.push(next)
        this.minedNonces++
      }
      this.blocks.push(this.block(transactions))
    }
  }

  /** Another program uses the sender's next nonce for something else. */
  strangerSends(): void {
    const hash = keccak256(stringToHex(`stranger ${this.forks++}`))
    const stranger = { hash, nonce: this.minedNonces, maxFeePerGas: GWEI, transfer: undefined }
    this.pool = this.pool.filter(({ nonce }) => nonce !== stranger.nonce)
    this.known.set(hash, stranger)
    this.minedNonces++
    this.blocks.push(this.block([stranger]))
  }

  /** Takes the newest blocks back. @param isKept whether their transactions wait again, rather than being forgotten */
  reorganize(depth: number, isKept: boolean): void {
    const dropped = this.blocks.splice(Math.max(1, this.blocks.length - depth))
    const transactions = dropped.flatMap((block) => block.transactions)
    this.minedNonces -= transactions.length
    this.forks++
    if (isKept) this.pool.push(...transactions)
    // The nonce of a stranger is used again at once, because it is not ours to send.
    const strangers = transactions.filter(({ transfer }) => transfer === undefined)
    this.pool.push(...(isKept ? [] : strangers))
    this.mine(dropped.length)
  }

  private take(): SimulatedTransaction | undefined {
    const at = this.pool.findIndex((one) => one.nonce === this.minedNonces && one.maxFeePerGas >= this.baseFee)
    const [taken] = at < 0 ? [] : this.pool.splice(at, 1)
    if (taken !== undefined) this.pool = this.pool.filter(({ nonce }) => nonce !== taken.nonce)
    return taken
  }

  private block(transactions: readonly SimulatedTransaction[]): SimulatedBlock {
    const number = this.blocks.length
    return { number, hash: keccak256(stringToHex(`block ${number} of ${this.forks}`)), transactions }
  }

  /** The node that answers all calls of one moment. */
  private node(): Node {
    if (this.batch === undefined) {
      const { answering, lagBlocks } = this.lies
      const isSecond = answering === 'second' || (answering === 'turns' && this.turns++ % 2 === 1)
      this.batch = { head: Math.max(0, this.head - (isSecond ? lagBlocks : 0)) }
      setImmediate(() => {
        this.batch = undefined
      })
    }
    return this.batch
  }

  private find(hash: Hex, { head }: Node): SimulatedBlock | undefined {
    return this.blocks.find(
      ({ number, transactions }) => number <= head && transactions.some((one) => one.hash === hash),
    )
  }

  private methods(chainId: number): Readonly<Record<string, Call>> {
    return {
      eth_chainId: () => toHex(chainId),
      eth_blockNumber: (_, { head }) => toHex(head),
      eth_maxPriorityFeePerGas: () => toHex(1n),
      eth_estimateGas: () => toHex(GAS),
      eth_getBlockByNumber: ([tag]: readonly string[], { head }) => {
        const block = this.blocks[tag === 'latest' ? head : Number(tag)]
        if (block === undefined || block.number > head) return null
        return { number: toHex(block.number), hash: block.hash, baseFeePerGas: toHex(this.baseFee), transactions: [] }
      },
      eth_getTransactionCount: ([, tag]: readonly string[], { head }) => {
        const until = tag === 'latest' || tag === undefined ? head : Math.min(head, Number(tag))
        const mined = this.blocks.slice(0, until + 1)
        return toHex(mined.reduce((sum, { transactions }) => sum + transactions.length, 0))
      },
      eth_getTransactionByHash: ([hash]: readonly Hex[], node) => this.transaction(hash ?? '0x', node),
      eth_getTransactionReceipt: ([hash]: readonly Hex[], node) => this.receipt(hash ?? '0x', node),
      eth_getLogs: ([filter]: readonly LogFilter[], node) => this.logs(filter, node),
      eth_sendRawTransaction: ([raw]: readonly Hex[]) => this.accept(raw ?? '0x'),
    }
  }

  private transaction(hash: Hex, node: Node) {
    const known = this.known.get(hash)
    const block = this.find(hash, node)
    if (known === undefined || (block === undefined && !this.pool.includes(known))) return null
    const number = block === undefined ? null : toHex(block.number)
    return {
      hash,
      nonce: toHex(known.nonce),
      from: this.sender,
      input: '0x',
      blockNumber: number,
      blockHash: block?.hash ?? null,
    }
  }

  private receipt(hash: Hex, node: Node) {
    const block = this.find(hash, node)
    if (block === undefined) return null
    const { receiptsLateBlocks, receiptsKeptBlocks, receiptsMissingEvery } = this.lies
    const depth = node.head - block.number
    const isMissing = receiptsMissingEvery > 0 && this.receipts++ % receiptsMissingEvery === 0
    if (isMissing || depth < receiptsLateBlocks || depth >= receiptsKeptBlocks) return null
    const logs = this.logsOf(block).filter(({ transactionHash }) => transactionHash === hash)
    const place = { transactionHash: hash, blockNumber: toHex(block.number), blockHash: block.hash }
    return { ...place, status: '0x1', logs, from: this.sender, type: '0x2', gasUsed: toHex(GAS) }
  }

  private logs(filter: LogFilter | undefined, { head }: Node) {
    const [first, last] = [Number(filter?.fromBlock ?? 0), Math.min(head, Number(filter?.toBlock ?? head))]
    const found = this.blocks.slice(first, last + 1).flatMap((block) => this.logsOf(block))
    return found.filter(({ topics }) =>
      (filter?.topics ?? []).every((topic, at) => topic === null || topic === topics[at]),
    )
  }

  private logsOf({ number, hash: blockHash, transactions }: SimulatedBlock) {
    return transactions.flatMap(({ hash: transactionHash, transfer }, at) => {
      if (transfer === undefined) return []
      const topics: Hex[] = [TRANSFER_TOPIC, pad(this.sender), pad(transfer.to)]
      const place = {
        transactionHash,
        blockHash,
        blockNumber: toHex(number),
        logIndex: toHex(at),
        transactionIndex: toHex(at),
      }
      return [{ ...place, address: transfer.token, topics, data: pad(toHex(transfer.amount)), removed: false }]
    })
  }

  private accept(raw: Hex): Hex {
    const { nonce = 0, maxFeePerGas = 0n, to, data } = parseTransaction(raw)
    const hash = keccak256(raw)
    if (nonce < this.minedNonces) throw new Error('nonce too low')
    const same = this.pool.find((one) => one.nonce === nonce)
    if (same?.hash === hash) throw new Error('already known')
    if (same !== undefined && maxFeePerGas * 10n < same.maxFeePerGas * 11n) throw new Error('replacement underpriced')
    const call = decodeFunctionData({ abi: PAYMENT_ABI, data: data ?? '0x' })
    if (call.functionName !== 'transfer') throw new Error(`the simulated token has no ${call.functionName}`)
    const [receiver, amount] = call.args
    const transfer = { token: to ?? '0x', to: receiver.toLowerCase() as Hex, amount }
    const transaction = { hash, nonce, maxFeePerGas, transfer }
    this.known.set(hash, transaction)
    this.pool = [...this.pool.filter((one) => one !== same), transaction]
    return hash
  }
}

interface LogFilter {
  readonly fromBlock?: string
  readonly toBlock?: string
  readonly topics?: ReadonlyArray<string | null>
}
