import assert from 'node:assert/strict'
import { until } from './stack.ts'

/**
 * Tells what is slow by itself from what a machine that stood still has made slow: each change has to show in the end, and
 * the fastest of several alike within the time that is promised. That it shows at all has to depend on its being told: what
 * would show it without that has to come much later.
 */
export class Stopwatch {
  private readonly tookMs: number[] = []

  /** Waits until `condition` holds and notes how long that took. */
  async until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
    const startedMs = performance.now()
    await until(what, condition)
    this.tookMs.push(performance.now() - startedMs)
  }

  /** Asserts that the fastest took less than this. */
  assertWithin(promisedMs: number): void {
    assert.ok(this.tookMs.length > 1, 'one alone may be slowed down by the machine')
    assert.ok(Math.min(...this.tookMs) < promisedMs, `they took ${this.tookMs.map(Math.round).join(', ')} ms`)
  }
}
