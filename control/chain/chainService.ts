import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../contract/errors/errors.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { bindChain } from './bindChain.ts'
import { type ChainClient, createChainClient, readChain } from './chainClient.ts'
import type { ChainOptions, OnChain, OnChainStart } from './chainParts.ts'
import { FeeOracle } from './fees.ts'
import type { PaymentsConfig } from './paymentsConfig.ts'
import type { OutcomeHandlers } from './recorder.ts'
import { TransactionSweeper } from './sweeper.ts'
import { TransactionWatcher } from './watcher.ts'

export interface ChainServiceOptions extends ChainOptions {
  /** Begun, in this order, once the chain is known to be the right one. */
  readonly starts: readonly OnChainStart<OnChain>[]
  readonly handlers: OutcomeHandlers
}

/** The parts that run once the chain is known to be the right one. */
interface Running {
  readonly chain: ChainClient
  readonly fees: FeeOracle
  readonly watcher: TransactionWatcher
  readonly sweeper: TransactionSweeper
  readonly parts: ReadonlyMap<OnChainStart<OnChain>, OnChain>
  /** Whether the work that an earlier process left has been finished. */
  isSwept: boolean
}

/** The gateway on its chain: binds the book to it, sends and follows transactions, and runs the products' parts. */
export class ChainService {
  private readonly options: ChainServiceOptions
  private readonly stopping = new AbortController()
  private readonly starting: Promise<void>
  private running: Running | undefined

  constructor(options: ChainServiceOptions) {
    this.options = options
    this.starting = this.start()
  }

  /** Whether the chain was found to be the one that the book is bound to. */
  get isBound(): boolean {
    return this.running !== undefined
  }

  /** Whether transactions are sent now. */
  get isReady(): boolean {
    return this.running?.isSwept === true && !this.stopping.signal.aborted
  }

  /** The operator's settings. */
  get config(): PaymentsConfig {
    return this.options.config
  }

  /** The chain. @throws GatewayError chain_unavailable until it has answered for the first time */
  get chain(): ChainClient {
    return this.bound().chain
  }

  /** Whether gas costs no more than its bound and a relayer has some; true before the chain is known. @throws errors of the node */
  async hasGas(): Promise<boolean> {
    if (this.running === undefined) return true
    const { chain, fees } = this.running
    const { maxFeePerGas } = await fees.current()
    const { relayers } = this.options.config
    const balances = await readChain(() => Promise.all(relayers.map(({ address }) => chain.getBalance({ address }))))
    const leastWei = maxFeePerGas * BigInt(this.options.limits.paymentGasMin)
    return balances.some((wei) => wei >= leastWei)
  }

  /**
   * A part that reads only.
   * @returns undefined where it was not begun
   * @throws GatewayError chain_unavailable until the chain has answered for the first time
   */
  reading<Part extends OnChain>(start: OnChainStart<Part>): Part | undefined {
    return partOf(this.bound(), start)
  }

  /**
   * A part that sends transactions.
   * @returns undefined where it was not begun
   * @throws GatewayError as `reading`; funds_lease while another control may still send, or this one is stopping
   */
  sending<Part extends OnChain>(start: OnChainStart<Part>): Part | undefined {
    const running = this.bound()
    if (!this.isReady) throw new GatewayError('funds_lease', { retryAfterSeconds: 1 })
    return partOf(running, start)
  }

  /** Finishes what is under way within `timeoutMs`; the next start takes up the rest. */
  async stop(timeoutMs: number): Promise<void> {
    this.stopping.abort()
    await this.starting
    if (this.running === undefined) return
    const { parts, sweeper, watcher } = this.running
    await Promise.all([...parts.values()].map((part) => part.stop(timeoutMs)))
    await sweeper.stop()
    await watcher.stop()
  }

  private bound(): Running {
    if (this.running === undefined) throw new GatewayError('chain_unavailable', { retryAfterSeconds: 5 })
    return this.running
  }

  /** An unreachable chain blocks only what needs it, so control runs meanwhile. */
  private async start(): Promise<void> {
    const { config, pool, log, limits } = this.options
    const { signal } = this.stopping
    const chain = createChainClient(config.rpcUrl, limits)
    while (!signal.aborted) {
      try {
        const quoteSecret = await bindChain(pool, chain, config)
        this.running = this.run(chain, quoteSecret)
        logEvent(log, 'payments_ready', { chain: config.chainId, treasury: config.treasury.address })
        return
      } catch (error) {
        logEvent(log, 'payments_unavailable', { err: error })
        await sleep(limits.chainSweepMs, undefined, { signal }).catch(() => {})
      }
    }
  }

  private run(chain: ChainClient, quoteSecret: Buffer): Running {
    const { config, pool, log, handlers, limits, starts } = this.options
    const { chainId, treasury, relayers, finalBlocks } = config
    const fees = new FeeOracle(chain, limits)
    const watcher = new TransactionWatcher({ pool, chain, log, handlers, confirmations: config, limits })
    const signers = new Map([treasury, ...relayers].map((signer) => [signer.address as string, signer]))
    const sweeper = new TransactionSweeper({
      pool,
      chain,
      chainId,
      watcher,
      fees,
      signers,
      finalBlocks,
      log,
      limits,
    })
    const parts = new Map<OnChainStart<OnChain>, OnChain>()
    const common = { chain, fees, watcher, quoteSecret }
    for (const start of starts) {
      const part = start(this.options, common)
      if (part !== undefined) parts.set(start, part)
    }
    const running: Running = { chain, fees, watcher, sweeper, parts, isSwept: false }
    void sweeper.swept.then(() => {
      running.isSwept = true
    })
    return running
  }
}

function partOf<Part extends OnChain>({ parts }: Pick<Running, 'parts'>, start: OnChainStart<Part>): Part | undefined {
  // Each value of the map was made by its key.
  return parts.get(start) as Part | undefined
}
