import { setTimeout as sleep } from 'node:timers/promises'
import { clusterOf, type Redis } from '../../contract/wire/redis.ts'
import { SERVERS_KEY } from '../../contract/wire/redisKeys.ts'
import { onServersChange } from '../../contract/wire/redisShards.ts'
import { areKnown, serversOf } from '../../contract/wire/servers.ts'
import type { AdmissionLimits } from './limits.ts'

/**
 * Knows whether Redis is served by those that control has opened admission for. A server that took over has the state of a
 * replica or of a file, which may lack the last writes: money that was spent last is free again there. Until control has
 * loaded its state from the book, nothing may be leased or held there, although the epoch is still the old one.
 */
export class KnownServers {
  private readonly redis: Redis
  private readonly limits: AdmissionLimits
  private readonly onFault: (error: unknown) => void
  private changeCount = 0
  private isKnown = false
  private isAsking = false
  private readonly lost = (): void => {
    this.changeCount++
    this.isKnown = false
  }

  /** @param redis watched from its first connection on */
  constructor(redis: Redis, limits: AdmissionLimits, onFault: (error: unknown) => void) {
    this.redis = redis
    this.limits = limits
    this.onFault = onFault
    this.watchConnections()
    onServersChange(redis, () => void this.ask())
  }

  get areKnown(): boolean {
    return this.isKnown
  }

  /** A number that changes when another server may have answered. */
  get changes(): number {
    return this.changeCount
  }

  /** In a cluster a call is redirected to a node that was not connected before; its answer arrives after this event. */
  private watchConnections(): void {
    const cluster = clusterOf(this.redis)
    if (cluster === undefined) {
      this.redis.on('connect', this.lost)
      return
    }
    const watch = (node: Pick<Redis, 'on'>): void => {
      node.on('connect', () => {
        this.lost()
        void this.ask()
      })
    }
    for (const node of cluster.nodes()) watch(node)
    cluster.on('+node', watch)
  }

  private async ask(): Promise<void> {
    if (this.isAsking) return
    this.isAsking = true
    do {
      await this.askOnce()
      if (!this.isKnown) await sleep(this.limits.serversAskMs, undefined, { ref: false })
    } while (!this.isKnown && this.redis.status === 'ready')
    this.isAsking = false
  }

  private async askOnce(): Promise<void> {
    const { changeCount } = this
    try {
      const [named, servers] = await Promise.all([this.redis.get(SERVERS_KEY), serversOf(this.redis)])
      // A control of an older version names none.
      if (changeCount === this.changeCount) this.isKnown = named === null || areKnown(servers, named)
    } catch (error) {
      this.isKnown = false
      this.onFault(error)
    }
  }
}
