import assert from 'node:assert/strict'
import { until } from './stack.ts'

/**
 * Tells what is slow by itself from what a machine that stood still has made slow: each change has to show in the end, and
 * the fastest of several alike within the time that is promised. That it shows at all has to depend on its being told: what
 * would show it without that has to come much later. A change has shown when every look that begins from then on sees it,
 * however long a look takes.
 */
export class Stopwatch {
  private readonly tookMs: number[] = []

  /** Waits until `condition` holds and notes how long that took. */
  async until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
    const startedMs = performance.now()
    let lastUnseenMs = startedMs
    await until(what, async () => {
      const lookMs = performance.now()
      const isSeen = await condition()
      if (!isSeen) lastUnseenMs = lookMs
      return isSeen
    })
    this.note(lastUnseenMs - startedMs)
  }

  /** Notes how long after a change the last look began that did not see it. */
  note(tookMs: number): void {
    this.tookMs.push(tookMs)
  }

  /** Asserts that the fastest took less than this. */
  assertWithin(promisedMs: number): void {
    assert.ok(this.tookMs.length > 1, 'one alone may be slowed down by the machine')
    assert.ok(Math.min(...this.tookMs) < promisedMs, `they took ${this.tookMs.map(Math.round).join(', ')} ms`)
  }
}
