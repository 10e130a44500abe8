import { limits } from '../contract/limits.ts'
import { type ChainClient, chainUnavailable, readChain } from './chainClient.ts'

const GWEI = 1_000_000_000n
/** A node takes a replacement that pays an eighth more; https://geth.ethereum.org/docs/interacting-with-geth/rpc */
const REPLACEMENT = { numerator: 9n, denominator: 8n }

/** Wei per gas. */
export interface Fees {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** What transactions are to pay: room for the base fee to double, and what the node says gets them in. */
export class FeeOracle {
  readonly #chain: ChainClient
  #known: { fees: Fees; atMs: number } | undefined
  #asking: Promise<Fees> | undefined

  constructor(chain: ChainClient) {
    this.#chain = chain
  }

  /** @throws GatewayError chain_unavailable, also when a block costs more than limits.gasPriceMaxGwei */
  async current(): Promise<Fees> {
    const known = this.#known
    if (known !== undefined && performance.now() - known.atMs < limits.gasPriceKeptMs) return known.fees
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  /** Fees that replace a transaction: at least an eighth more, and what holds now. @returns undefined past the bound */
  async replacing(old: Fees): Promise<Fees | undefined> {
    const now = await this.current()
    const raised = (fee: bigint) => (fee * REPLACEMENT.numerator) / REPLACEMENT.denominator + 1n
    const fees = {
      maxFeePerGas: larger(raised(old.maxFeePerGas), now.maxFeePerGas),
      maxPriorityFeePerGas: larger(raised(old.maxPriorityFeePerGas), now.maxPriorityFeePerGas),
    }
    return fees.maxFeePerGas > BigInt(limits.gasPriceMaxGwei) * GWEI ? undefined : fees
  }

  async #ask(): Promise<Fees> {
    const [block, priority] = await readChain(() =>
      Promise.all([this.#chain.getBlock({ blockTag: 'latest' }), this.#chain.estimateMaxPriorityFeePerGas()]),
    )
    const maxFeePerGas = (block.baseFeePerGas ?? GWEI) * 2n + priority
    if (maxFeePerGas > BigInt(limits.gasPriceMaxGwei) * GWEI) {
      throw chainUnavailable(new Error(`gas costs ${maxFeePerGas} wei, more than limits.gasPriceMaxGwei`))
    }
    const fees = { maxFeePerGas, maxPriorityFeePerGas: priority }
    this.#known = { fees, atMs: performance.now() }
    return fees
  }
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
