import type { RpcClient } from './rpcClient.ts'

/** Asks control now and then whether it and its database are well, so that /health answers without asking. */
export class Pulse {
  /** The last answer was a good one. */
  alive = false

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
        () => true,
        () => false,
      )
      .then((alive) => {
        this.alive = alive
        this.timer = setTimeout(() => this.ask(), this.intervalMs)
      })
  }
}
