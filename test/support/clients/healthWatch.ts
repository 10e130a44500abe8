import assert from 'node:assert/strict'
import { get } from 'node:http'
import { runMs } from '../parts/turnWatch.ts'

/** A worker serves many health checks in this time of a CPU. */
const MOST_MS = 1_000

/** Asks a gateway for its health all the time, to notice when its only worker does something else. */
export class HealthWatch {
  private readonly url: string
  private readonly workerPid: number
  private readonly watching: Promise<void>
  private longestMs = 0
  private done = false

  /** @param workerPid the process of the worker */
  constructor(baseUrl: string, workerPid: number) {
    this.url = `${baseUrl}/health`
    this.workerPid = workerPid
    this.watching = this.watch()
  }

  async stop(): Promise<void> {
    this.done = true
    await this.watching
  }

  /** Asserts that the worker did nothing else for long. The time that other processes had the CPU does not count. */
  assertResponsive(): void {
    assert.ok(this.longestMs < MOST_MS, `the worker was busy for ${this.longestMs} ms before it answered /health`)
  }

  private async watch(): Promise<void> {
    while (!this.done) {
      const beganMs = runMs(this.workerPid)
      await this.ask()
      this.longestMs = Math.max(this.longestMs, runMs(this.workerPid) - beganMs)
    }
  }

  /** On a connection of its own: a server may close one that it kept just as it is asked again. */
  private ask(): Promise<void> {
    return new Promise((resolve, reject) => {
      get(this.url, { agent: false }, (response) => response.once('end', resolve).resume()).once('error', reject)
    })
  }
}
