import type { Logger } from 'pino'
import { WakeableSleep } from '../../contract/std/wakeableSleep.ts'
import { logRepeat } from './logEvents.ts'

/** One round of the work; it ends early when the signal aborts. With `true`, another one follows immediately. */
type Pass = (signal: AbortSignal) => Promise<void> | Promise<boolean>

/**
 * Repeats a piece of work until it is stopped: after an interval, or immediately when woken. Errors are logged, once a minute those
 * that come again.
 */
export class Loop {
  readonly name: string
  private readonly intervalMs: number
  private readonly pass: Pass
  private readonly log: Logger
  private readonly stopping = new AbortController()
  private readonly done: Promise<void>
  private readonly pause = new WakeableSleep()

  constructor(name: string, intervalMs: number, log: Logger, pass: Pass) {
    this.name = name
    this.intervalMs = intervalMs
    this.log = log
    this.pass = pass
    this.done = this.run()
  }

  /** Starts the next pass immediately; if a pass is running, another one follows it. */
  wake(): void {
    this.pause.wake()
  }

  /** Lets the running pass finish, then stops. */
  async stop(): Promise<void> {
    this.stopping.abort()
    this.wake()
    await this.done
  }

  private async run(): Promise<void> {
    const signal = this.stopping.signal
    while (!signal.aborted) {
      try {
        if ((await this.pass(signal)) === true) this.wake()
      } catch (error) {
        if (!signal.aborted) logRepeat(this.log, 'loop_failed', { task: this.name, err: error })
        // A woken loop must not spin while the fault lasts.
        this.pause.forget()
      }
      if (!signal.aborted) await this.pause.sleep(this.intervalMs)
    }
  }
}
