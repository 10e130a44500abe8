import type { Logger } from 'pino'
import { OutageLog } from '../../../contract/std/outageLog.ts'
import type { RuntimeLimits } from '../limits.ts'
import { Loop } from '../loop.ts'

export interface ServerProbeOptions<State> {
  /** Of its loop. */
  readonly name: string
  /** Asks the server for its state. */
  readonly ask: () => Promise<State>
  /** The server begins to fail, or to need more than `serverSlowMs`. */
  readonly onSlow: (reason: string) => void
  /** It answers in time again. */
  readonly onRecovered: (outageMs: number) => void
  readonly log: Logger
  readonly limits: RuntimeLimits
}

/**
 * Asks a server for its state again and again. Its figures are read without waiting, also while the server stands still, and a
 * change is logged once.
 */
export class ServerProbe<State> {
  /** Of the last answer; undefined before the first one. */
  state: State | undefined
  private lastMs = 0
  private askedAt: number | undefined
  /** Since when no question was answered. */
  private failingSince: number | undefined
  private readonly options: ServerProbeOptions<State>
  private readonly outage: OutageLog
  private readonly loop: Loop

  constructor(options: ServerProbeOptions<State>) {
    this.options = options
    const { name, log, limits, onSlow, onRecovered } = options
    this.outage = new OutageLog(
      { began: (error) => onSlow((error as Error).message), goesOn: () => {}, ended: onRecovered },
      limits.serverCheckMs,
    )
    this.loop = new Loop(name, limits.serverCheckMs, log, async () => {
      if (this.askedAt === undefined) void this.askOnce()
      else if (this.waitedMs > limits.serverSlowMs) this.noteSlow(this.waitedMs)
    })
  }

  /** How long the last answer took, or for how long none has come since, if that is longer; in milliseconds. */
  get roundTripMs(): number {
    const failingMs = this.failingSince === undefined ? 0 : performance.now() - this.failingSince
    return Math.max(this.lastMs, this.waitedMs, failingMs)
  }

  /** Does not wait for an answer that is due. */
  stop(): Promise<void> {
    return this.loop.stop()
  }

  private get waitedMs(): number {
    return this.askedAt === undefined ? 0 : performance.now() - this.askedAt
  }

  private noteSlow(ms: number): void {
    this.outage.failed(this.options.name, new Error(`no answer within ${Math.round(ms)} ms`))
  }

  private async askOnce(): Promise<void> {
    this.askedAt = performance.now()
    try {
      this.state = await this.options.ask()
      this.lastMs = this.waitedMs
      this.failingSince = undefined
      if (this.lastMs > this.options.limits.serverSlowMs) this.noteSlow(this.lastMs)
      else this.outage.works(this.options.name)
    } catch (error) {
      this.failingSince ??= this.askedAt
      this.outage.failed(this.options.name, error)
    } finally {
      this.askedAt = undefined
    }
  }
}
