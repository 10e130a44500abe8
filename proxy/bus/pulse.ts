import { CHAIN_HEALTHS, type ChainHealth } from '../../control/contract/chainHealth.ts'
import { sluice } from '../../control/contract/generated/messages.js'
import type { RpcClient } from './rpcClient.ts'

/** Asks control now and then whether it and its database are well, so that /health answers without asking. */
export class Pulse {
  /** The last answer was a good one. */
  alive = false
  /** The state of the chain as control last told it; while control does not answer, nothing can be paid on it. */
  chain: ChainHealth = 'unavailable'

  private readonly rpc: RpcClient
  private readonly intervalMs: number
  private timer: NodeJS.Timeout | undefined

  constructor(rpc: RpcClient, intervalMs: number) {
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
    this.rpc
      .call('ping', new Uint8Array(0))
      .then(
        (reply) => {
          const { chain } = sluice.PingReply.decode(reply)
          this.alive = true
          this.chain = CHAIN_HEALTHS.find((state) => state === chain) ?? 'not_configured'
        },
        () => {
          this.alive = false
          if (this.chain === 'ok') this.chain = 'unavailable'
        },
      )
      .then(() => {
        this.timer = setTimeout(() => this.ask(), this.intervalMs)
      })
  }
}
