import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../contract/wire/redis.ts'
import { defineScript } from '../../contract/wire/scripts.ts'
import type { QuotaLimits } from './limits.ts'
import type { Permits, PermitWaiter } from './permit.ts'
import type { Pot } from './pot.ts'
import { type QuotaContext, ShardQuotas } from './shardQuotas.ts'

/**
 * Gives permits of quotas that hold over all proxies. Nothing is taken in advance, so that no permit lies idle in one process while
 * another one refuses requests; those in flight are leased to the process, and come back when it states them no more.
 */
export class Quotas implements Permits {
  private readonly context: QuotaContext
  private readonly shards = new Map<number, ShardQuotas>()
  private timer: NodeJS.Timeout | undefined

  constructor(context: QuotaContext) {
    this.context = context
  }

  start(): void {
    this.timer = setInterval(() => this.state(), this.context.limits.quotaStateMs)
  }

  /** States all that is in flight, before Redis takes this process for dead. */
  state(): void {
    for (const shard of this.shards.values()) shard.state()
  }

  /** Waits until Redis knows what has ended, at most so long; what it does not know then, comes back later. */
  async delivered(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs
    const isOpen = () => [...this.shards.values()].some(({ isDelivered }) => !isDelivered)
    while (isOpen() && performance.now() < untilMs) {
      for (const shard of this.shards.values()) shard.retry()
      await sleep(1)
    }
  }

  async stop(timeoutMs: number): Promise<void> {
    clearInterval(this.timer)
    await this.delivered(timeoutMs)
  }

  take(pots: readonly Pot[], tokens: number, waiter: PermitWaiter): void {
    const [first] = pots
    if (first === undefined) throw new RangeError('a permit needs a pot')
    let shard = this.shards.get(first.shard)
    if (shard === undefined) {
      shard = new ShardQuotas(this.context)
      this.shards.set(first.shard, shard)
    }
    shard.take(pots, tokens, waiter)
  }
}

/** The quotas of a process. @param onFault called for calls to Redis that failed */
export function newQuotas(
  commands: Redis,
  owner: string,
  limits: QuotaLimits,
  onFault: (error: unknown) => void,
): Quotas {
  const connected = () => commands.status === 'ready'
  return new Quotas({ owner, script: defineScript(commands, 'quota'), limits, connected, onFault })
}
