import type { Logger } from 'pino'
import type { ChainHealth, PaymentState } from '../../contract/wire/chainHealth.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { Loop } from '../runtime/loop.ts'
import { type ChainClient, createChainClient } from './chainClient.ts'
import type { ChainLimits } from './limits.ts'

export interface ChainStateOptions {
  /** Undefined where the operator has named no chain. */
  readonly rpcUrl: string | undefined
  /** The chain that payments are on, which the book follows; undefined takes any. */
  readonly payments: { readonly chainId: number; readonly depositConfirmations: number } | undefined
  /** Undefined where no payments are taken. */
  readonly service: Admitting | undefined
  readonly pool: Queryable
  readonly log: Logger
  readonly limits: ChainLimits
}

/** The part that admits payments. */
export interface Admitting {
  /** Whether the chain is known to be the one of the book. */
  readonly isBound: boolean
  /** Whether this process is ready for payments. */
  readonly isReady: boolean
  /** Whether transactions can be paid for. @throws errors of the node */
  hasGas(): Promise<boolean>
}

/** https://ethereum.github.io/execution-apis/ says `false`, or an object while the node fetches blocks. */
interface Syncing {
  readonly Method: 'eth_syncing'
  readonly Parameters?: undefined
  readonly ReturnType: false | object
}

/** Polls the node of the chain, so that the state of the chain can be reported without a call to it. */
export class ChainState {
  /** Resolves after the first check. */
  readonly known: Promise<void>
  private readonly options: ChainStateOptions
  private readonly loop: Loop | undefined
  private seen: ChainHealth = 'not_configured'
  private hasGas = false

  constructor(options: ChainStateOptions) {
    this.options = options
    const { rpcUrl, log, limits } = options
    if (rpcUrl === undefined) {
      this.known = Promise.resolve()
      return
    }
    this.seen = 'unavailable'
    const client = createChainClient(rpcUrl, limits)
    let looked = (): void => {}
    this.known = new Promise((resolve) => {
      looked = resolve
    })
    this.loop = new Loop('chain state', limits.chainCheckMs, log, async () => {
      this.seen = await this.look(client).catch((): ChainHealth => 'unavailable')
      this.hasGas = (await this.options.service?.hasGas().catch(() => false)) ?? false
      looked()
    })
  }

  /** As of the last check; a chain that the book is not bound to is not there for it. */
  get state(): ChainHealth {
    return this.options.service?.isBound === false ? 'unavailable' : this.seen
  }

  /** Whether payments can be made now. */
  get payments(): PaymentState {
    const { service } = this.options
    if (service === undefined) return 'not_configured'
    return service.isReady && this.hasGas && this.state !== 'unavailable' ? 'open' : 'unavailable'
  }

  async stop(): Promise<void> {
    await this.loop?.stop()
  }

  /** @throws errors of the node */
  private async look(client: ChainClient): Promise<ChainHealth> {
    const { payments } = this.options
    const [found, head, syncing] = await Promise.all([
      client.getChainId(),
      client.getBlockNumber(),
      client.request<Syncing>({ method: 'eth_syncing' }),
    ])
    if (payments !== undefined && found !== payments.chainId) return 'unavailable'
    if (syncing !== false) return 'behind'
    if (payments === undefined) return 'ok'
    // Blocks without enough confirmations are read later.
    const isBehind = await this.isBookBehind(Number(head) - payments.depositConfirmations + 1)
    return isBehind ? 'behind' : 'ok'
  }

  /** Whether blocks are not read, or transactions get into none, for longer than usual. */
  private async isBookBehind(head: number): Promise<boolean> {
    const { pool, limits } = this.options
    const found = await pool.query<{ unread: number; waiting_ms: number }>(
      `SELECT $1::bigint - scanned_block AS unread, coalesce((
         SELECT extract(epoch FROM clock_timestamp() - min(created_at)) * 1000 FROM chain_transactions
         WHERE state = 'pending'), 0)::float8 AS waiting_ms
       FROM chain_identity`,
      [head],
    )
    const { unread = 0, waiting_ms: waitingMs = 0 } = found.rows[0] ?? {}
    return unread > limits.chainUnreadBlocksMax || waitingMs > limits.chainWaitingMs
  }
}
