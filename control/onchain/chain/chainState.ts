import type { Logger } from 'pino'
import type { ChainHealth } from '../../../contract/wire/chainHealth.ts'
import type { Limits } from '../../limits.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import { type ChainClient, createChainClient } from './chainClient.ts'

export interface ChainStateOptions {
  /** Undefined where the operator has named no chain. */
  readonly rpcUrl: string | undefined
  /** The chain that payments are on, which the book follows; undefined takes any. */
  readonly payments: { readonly chainId: number; readonly depositConfirmations: number } | undefined
  readonly pool: Queryable
  readonly log: Logger
  readonly limits: Limits
}

/** https://ethereum.github.io/execution-apis/ says `false`, or an object while the node fetches blocks. */
interface Syncing {
  readonly Method: 'eth_syncing'
  readonly Parameters?: undefined
  readonly ReturnType: false | object
}

/** Polls the node of the chain, so that the state of the chain can be reported without a call to it. */
export class ChainState {
  /** As of the last check. */
  state: ChainHealth = 'not_configured'
  /** Resolves after the first check. */
  readonly known: Promise<void>
  private readonly options: ChainStateOptions
  private readonly loop: Loop | undefined

  constructor(options: ChainStateOptions) {
    this.options = options
    const { rpcUrl, log, limits } = options
    if (rpcUrl === undefined) {
      this.known = Promise.resolve()
      return
    }
    this.state = 'unavailable'
    const client = createChainClient(rpcUrl, limits)
    let looked = (): void => {}
    this.known = new Promise((resolve) => {
      looked = resolve
    })
    this.loop = new Loop('chain state', limits.chainCheckMs, log, async () => {
      this.state = await this.look(client).catch((): ChainHealth => 'unavailable')
      looked()
    })
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
