import { type ChainClient, chainUnavailable, readChain } from './chainClient.ts'
import type { ChainLimits } from './limits.ts'

const GWEI = 1_000_000_000n
/** A node takes a replacement that pays an eighth more; https://geth.ethereum.org/docs/interacting-with-geth/rpc */
const REPLACEMENT = { numerator: 9n, denominator: 8n }

/** Wei per gas. */
export interface Fees {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

interface Known {
  readonly fees: Fees
  readonly baseFee: bigint
  readonly atMs: number
}

/** The fees of transactions: room for the base fee to double, and the priority fee that the node suggests. */
export class FeeOracle {
  private readonly chain: ChainClient
  private known: Known | undefined
  private asking: Promise<Known> | undefined
  private readonly limits: ChainLimits

  constructor(chain: ChainClient, limits: ChainLimits) {
    this.limits = limits
    this.chain = chain
  }

  /** @throws GatewayError chain_unavailable, also when a block costs more than limits.gasPriceMaxGwei */
  async current(): Promise<Fees> {
    return (await this.read()).fees
  }

  /** The least that a transaction has to offer to get into a block, wei per gas. @throws GatewayError as `current` */
  async baseFee(): Promise<bigint> {
    return (await this.read()).baseFee
  }

  private async read(): Promise<Known> {
    const known = this.known
    if (known !== undefined && performance.now() - known.atMs < this.limits.gasPriceKeptMs) return known
    this.asking ??= this.ask().finally(() => {
      this.asking = undefined
    })
    return this.asking
  }

  /** Fees that replace a transaction: an eighth more, and at least the current fees. @returns undefined past the bound */
  async replacing(old: Fees): Promise<Fees | undefined> {
    const now = await this.current()
    const raised = (fee: bigint) => (fee * REPLACEMENT.numerator) / REPLACEMENT.denominator + 1n
    const fees = {
      maxFeePerGas: larger(raised(old.maxFeePerGas), now.maxFeePerGas),
      maxPriorityFeePerGas: larger(raised(old.maxPriorityFeePerGas), now.maxPriorityFeePerGas),
    }
    return fees.maxFeePerGas > BigInt(this.limits.gasPriceMaxGwei) * GWEI ? undefined : fees
  }

  private async ask(): Promise<Known> {
    const [block, priority] = await readChain(() =>
      Promise.all([this.chain.getBlock({ blockTag: 'latest' }), this.chain.estimateMaxPriorityFeePerGas()]),
    )
    const baseFee = block.baseFeePerGas ?? GWEI
    const maxFeePerGas = baseFee * 2n + priority
    if (maxFeePerGas > BigInt(this.limits.gasPriceMaxGwei) * GWEI) {
      throw chainUnavailable(new Error(`gas costs ${maxFeePerGas} wei, more than limits.gasPriceMaxGwei`))
    }
    this.known = { fees: { maxFeePerGas, maxPriorityFeePerGas: priority }, baseFee, atMs: performance.now() }
    return this.known
  }
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
