import { SteadyMap } from '../steadyMap.ts'

/** The last requests that ended here, for the answers to `ask`. */
export class RecentEndings {
  private readonly max: number
  private readonly ids: string[] = []
  private readonly shards: SteadyMap<number>
  private next = 0

  constructor(max: number) {
    this.max = max
    this.shards = new SteadyMap(max)
  }

  add(requestId: string, shard: number): void {
    const oldest = this.ids[this.next]
    if (oldest !== undefined) this.shards.delete(oldest)
    this.ids[this.next] = requestId
    this.shards.set(requestId, shard)
    this.next = (this.next + 1) % this.max
  }

  /** @returns undefined for a request that did not end here lately */
  shardOf(requestId: string): number | undefined {
    return this.shards.get(requestId)
  }
}
