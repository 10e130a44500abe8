import { SteadyMap } from '../steadyMap.ts'

/** The last requests that ended here, for the answers to `ask`. */
export class RecentEndings {
  private readonly max: number
  private readonly ids: string[] = []
  private readonly endedAtMs: Float64Array
  private readonly shards: SteadyMap<number>
  private next = 0

  constructor(max: number) {
    this.max = max
    this.endedAtMs = new Float64Array(max)
    this.shards = new SteadyMap(max)
  }

  /** @param nowMs by a clock that only goes forward */
  add(requestId: string, shard: number, nowMs: number): void {
    const oldest = this.ids[this.next]
    if (oldest !== undefined) this.shards.delete(oldest)
    this.ids[this.next] = requestId
    this.endedAtMs[this.next] = nowMs
    this.shards.set(requestId, shard)
    this.next = (this.next + 1) % this.max
  }

  /** @returns undefined for a request that did not end here lately */
  shardOf(requestId: string): number | undefined {
    return this.shards.get(requestId)
  }

  /** Whether all that ended since then are still known, by the clock of `add`. */
  reachBackTo(ms: number): boolean {
    return this.ids.length < this.max || (this.endedAtMs[this.next] ?? 0) < ms
  }
}
