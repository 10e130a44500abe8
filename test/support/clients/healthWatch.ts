import assert from 'node:assert/strict'

/** A machine that is busy takes this long for anything. */
const USUAL_MS = 1_000
/** Where a worker stands still for what one answer takes, that is a greater part of the whole time. */
const SHARE = 1 / 6

/** Asks a gateway for its health all the time, to notice when it stands still. */
export class HealthWatch {
  private readonly url: string
  private readonly startedMs = performance.now()
  private readonly watching: Promise<void>
  private longestMs = 0
  private done = false

  constructor(baseUrl: string) {
    this.url = `${baseUrl}/health`
    this.watching = this.watch()
  }

  async stop(): Promise<void> {
    this.done = true
    await this.watching
  }

  /** Asserts that no answer took long; on a busy machine everything takes longer. */
  assertResponsive(): void {
    const allowedMs = Math.max(USUAL_MS, (performance.now() - this.startedMs) * SHARE)
    assert.ok(this.longestMs < allowedMs, `/health took ${this.longestMs} ms of ${allowedMs}`)
  }

  private async watch(): Promise<void> {
    while (!this.done) {
      const beganMs = performance.now()
      await (await fetch(this.url)).text()
      this.longestMs = Math.max(this.longestMs, performance.now() - beganMs)
    }
  }
}
