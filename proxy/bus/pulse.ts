import type { Observed } from '../../contract/api/observedDays.ts'
import { CHAIN_HEALTHS, type ChainHealth } from '../../contract/wire/chainHealth.ts'
import type { RpcClient } from './rpcClient.ts'

/** What this process sees of the service. */
export interface Seen {
  /** Notes the state since the last call. */
  observe(): void
  /** What was noted since the last call. */
  take(): readonly Observed[]
  /** Takes back what could not be told. */
  keep(observed: readonly Observed[]): void
}

/** Asks control now and then whether it and its database are well, so that /health answers without asking. */
export class Pulse {
  /** The last answer was a good one. */
  alive = false
  /** The state of the chain as control last told it; while control does not answer, nothing can be paid on it. */
  chain: ChainHealth = 'unavailable'

  /** At the last answer control was loading the state that holds are taken on, so that nothing could be held for. */
  admissionClosed = false

  private readonly rpc: RpcClient
  private readonly intervalMs: number
  private readonly seen: Seen
  private timer: NodeJS.Timeout | undefined

  /** @param seen asked before each pulse, and told to control with it */
  constructor(rpc: RpcClient, intervalMs: number, seen: Seen) {
    this.seen = seen
    this.rpc = rpc
    this.intervalMs = intervalMs
  }

  start(): void {
    this.ask()
  }

  stop(): void {
    clearTimeout(this.timer)
  }

  private ask(): void {
    this.seen.observe()
    const observed = this.seen.take()
    this.rpc
      .call('ping', { observed: [...observed] })
      .then(
        ({ chain, admissionClosed }) => {
          this.admissionClosed = admissionClosed
          this.alive = true
          this.chain = CHAIN_HEALTHS.find((state) => state === chain) ?? 'not_configured'
        },
        () => {
          this.alive = false
          this.seen.keep(observed)
          if (this.chain === 'ok') this.chain = 'unavailable'
        },
      )
      .then(() => {
        this.timer = setTimeout(() => this.ask(), this.intervalMs)
      })
  }
}
