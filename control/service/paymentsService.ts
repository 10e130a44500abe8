import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { GatewayError } from '../../contract/errors/errors.ts'
import type { PaymentTerms } from '../../contract/payments/terms.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { bindChain } from '../chain/bindChain.ts'
import { type ChainClient, createChainClient, readChain } from '../chain/chainClient.ts'
import { ContractWallets } from '../chain/contractSignature.ts'
import { FeeOracle } from '../chain/fees.ts'
import type { PaymentsConfig } from '../chain/paymentsConfig.ts'
import { TransactionSweeper } from '../chain/sweeper.ts'
import { TransactionWatcher } from '../chain/watcher.ts'
import type { Limits } from '../limits.ts'
import type { RevenueKeeper } from '../products/holders/rewards/revenueKeeper.ts'
import { type RevenueOptions, startRevenue } from '../products/holders/startRevenue.ts'
import { type LockTokens, startLockTokens } from '../products/locks/tokens/startLockTokens.ts'
import { DepositScanner, type ScannerOptions } from '../products/payments/deposits/depositScanner.ts'
import { Deposits } from '../products/payments/deposits/deposits.ts'
import { Refunder } from '../products/payments/refunds/refunds.ts'
import { Withdrawer } from '../products/payments/withdrawals/withdrawals.ts'
import { PaymentCloser } from '../products/payments/x402/closer.ts'
import type { PaymentOrder } from '../products/payments/x402/paymentOrder.ts'
import { RefusalCounts } from '../products/payments/x402/refusalCounts.ts'
import { PaymentSettler, type Settled } from '../products/payments/x402/settler.ts'
import type { AnchorKeeper } from '../products/settlements/anchorKeeper.ts'
import { startAnchors } from '../products/settlements/startAnchors.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { confirmationsOf, OUTCOMES } from './outcomes.ts'

const STOP_CHECK_MS = 20
/** Time to verify and send a payment, as in the reference facilitator of x402, and to get it into a block. */
const SETTLEMENT_SECONDS = 6
const SETTLEMENT_BLOCKS = 2

export interface PaymentsOptions
  extends Pick<ScannerOptions, 'accountOfWallet' | 'coinUsdUnits'>,
    Pick<RevenueOptions, 'accountsOfWallets'> {
  readonly config: PaymentsConfig
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly limits: Limits
}

/** The parts that run once the chain is known to be the right one. */
interface Running {
  readonly chain: ChainClient
  readonly terms: PaymentTerms
  readonly fees: FeeOracle
  readonly watcher: TransactionWatcher
  readonly sweeper: TransactionSweeper
  readonly settler: PaymentSettler
  readonly closer: PaymentCloser
  readonly refunder: Refunder
  readonly scanner: DepositScanner
  readonly deposits: Deposits
  readonly withdrawer: Withdrawer
  /** Undefined where the operator has named no contract. */
  readonly anchors: AnchorKeeper | undefined
  /** Undefined where revenue is not shared. */
  readonly revenue: RevenueKeeper | undefined
  /** Undefined where the operator has named no contract. */
  readonly lockTokens: LockTokens | undefined
  /** Whether the work that an earlier process left has been finished. */
  isSwept: boolean
}

/** Takes payments: everything of control that moves money on the chain. */
export class PaymentsService {
  readonly refusals: RefusalCounts
  private readonly options: PaymentsOptions
  private readonly stopping = new AbortController()
  private readonly starting: Promise<void>
  private running: Running | undefined

  constructor(options: PaymentsOptions) {
    this.options = options
    this.refusals = new RefusalCounts(options.log, options.limits)
    this.starting = this.start()
  }

  /** @throws GatewayError chain_unavailable until the chain has answered for the first time */
  get terms(): PaymentTerms {
    return this.ready().terms
  }

  /** Whether the chain was found to be the one that the book is bound to. */
  get isBound(): boolean {
    return this.running !== undefined
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

  /** Whether payments are taken now. */
  get isReady(): boolean {
    return this.running?.isSwept === true && !this.stopping.signal.aborted
  }

  /**
   * Makes a payment and takes the hold of its request; see PaymentSettler.
   * @throws GatewayError, also funds_lease while another control may still process it or this one is stopping
   */
  async settle(order: PaymentOrder, waitMs: number): Promise<Settled> {
    return this.settled().settler.settle(order, waitMs)
  }

  /**
   * Takes gasless deposits.
   * @throws GatewayError funds_lease while another control may still be at one or this one leaves; chain_unavailable
   */
  get deposits(): Deposits {
    return this.settled().deposits
  }

  /** Sends withdrawals. @throws GatewayError as `deposits` */
  get withdrawer(): Withdrawer {
    return this.settled().withdrawer
  }

  /** Tokens of compute locks on the chain; undefined where the operator has named no contract. @throws GatewayError as `deposits` */
  get lockTokens(): LockTokens | undefined {
    return this.settled().lockTokens
  }

  /** The chain. @throws GatewayError chain_unavailable until it has answered for the first time */
  get chain(): ChainClient {
    return this.ready().chain
  }

  /** The operator's settings. */
  get config(): PaymentsConfig {
    return this.options.config
  }

  /** To be called when requests were booked, so that refunds do not wait for the next poll. */
  onBooked(): void {
    this.running?.closer.wake()
  }

  /** Finishes the payments under way within `timeoutMs`; the next start takes up the rest. */
  async stop(timeoutMs: number): Promise<void> {
    this.stopping.abort()
    this.refusals.summarize()
    await this.starting
    const running = this.running
    if (running === undefined) return
    const deadlineMs = performance.now() + timeoutMs
    while (running.settler.size > 0 && performance.now() < deadlineMs) await sleep(STOP_CHECK_MS)
    const { closer, refunder, sweeper, scanner, deposits, withdrawer, anchors, revenue, lockTokens } = running
    const parts = [closer, refunder, sweeper, scanner, deposits, withdrawer, anchors, revenue, lockTokens]
    await Promise.all(parts.map((part) => part?.stop()))
    await running.watcher.stop()
  }

  private settled(): Running {
    const running = this.ready()
    if (this.stopping.signal.aborted || !running.isSwept)
      throw new GatewayError('funds_lease', { retryAfterSeconds: 1 })
    return running
  }

  private ready(): Running {
    if (this.running === undefined) throw new GatewayError('chain_unavailable', { retryAfterSeconds: 5 })
    return this.running
  }

  /** An unreachable chain blocks only payments, so control runs meanwhile. */
  private async start(): Promise<void> {
    const { config, pool, log } = this.options
    const { signal } = this.stopping
    const chain = createChainClient(config.rpcUrl, this.options.limits)
    while (!signal.aborted) {
      try {
        const quoteSecret = await bindChain(pool, chain, config)
        this.running = this.run(chain, quoteSecret)
        logEvent(log, 'payments_ready', { chain: config.chainId, treasury: config.treasury.address })
        return
      } catch (error) {
        logEvent(log, 'payments_unavailable', { err: error })
        await sleep(this.options.limits.chainSweepMs, undefined, { signal }).catch(() => {})
      }
    }
  }

  private run(chain: ChainClient, quoteSecret: Buffer): Running {
    const { config, pool, redis, log } = this.options
    const { chainId, treasury, relayers, finalBlocks } = config
    const fees = new FeeOracle(chain, this.options.limits)
    const watcher = new TransactionWatcher({
      pool,
      chain,
      log,
      handlers: OUTCOMES,
      confirmations: confirmationsOf(config),
      limits: this.options.limits,
    })
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
      limits: this.options.limits,
    })
    const contracts = new ContractWallets(config.rpcUrl, this.options.limits)
    const settler = new PaymentSettler({
      pool,
      redis,
      chain,
      chainId,
      contracts,
      fees,
      watcher,
      relayers,
      log,
      agentRegistry: config.agentRegistry,
      limits: this.options.limits,
    })
    const { accountOfWallet, coinUsdUnits } = this.options
    const refunder = new Refunder({ pool, chain, chainId, treasury, fees, watcher, log, limits: this.options.limits })
    const closer = new PaymentCloser({
      pool,
      redis,
      log,
      coinUsdUnits,
      assets: config.assets,
      refundMinUnits: config.refundMinUnits,
      resolveUnmoved: (payment) => settler.resolveUnmoved(payment),
      onClosed: () => refunder.wake(),
      limits: this.options.limits,
    })
    const scanner = new DepositScanner({
      pool,
      chain,
      log,
      accountOfWallet,
      coinUsdUnits,
      assets: config.assets,
      treasury: treasury.address,
      confirmations: config.depositConfirmations,
      finalBlocks,
      limits: this.options.limits,
    })
    const deposits = new Deposits({
      pool,
      chain,
      chainId,
      contracts,
      fees,
      watcher,
      relayers,
      log,
      treasury: treasury.address,
      limits: this.options.limits,
    })
    const { limits } = this.options
    const withdrawer = new Withdrawer({ pool, chain, chainId, treasury, fees, watcher, log, limits })
    const terms: PaymentTerms = {
      chainId,
      payTo: treasury.address,
      assets: config.assets,
      agentRegistry: config.agentRegistry,
      spender: relayers[0].address,
      quoteSecret,
      minUnits: config.minChargeUnits,
      marginSeconds: SETTLEMENT_SECONDS + SETTLEMENT_BLOCKS * config.blockSeconds,
    }
    const running: Running = {
      chain,
      terms,
      fees,
      watcher,
      sweeper,
      settler,
      closer,
      refunder,
      scanner,
      deposits,
      withdrawer,
      anchors: startAnchors(this.options, { chain, fees, watcher }),
      revenue: startRevenue(this.options, { chain, fees, watcher }),
      lockTokens: startLockTokens(this.options, { chain, fees, watcher }),
      isSwept: false,
    }
    void sweeper.swept.then(() => {
      running.isSwept = true
    })
    return running
  }
}
