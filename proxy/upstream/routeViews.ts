import type { ClockDifference } from '../../contract/wire/clockDifference.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Redis } from '../../contract/wire/redis.ts'
import { ROUTE_VIEWS_KEY } from '../../contract/wire/redisKeys.ts'
import type { KeyOut } from './keys/keyHealth.ts'
import type { UpstreamLimits } from './limits.ts'
import type { RouteHealth } from './routeHealth.ts'

export interface RouteViewsOptions {
  readonly commands: Pick<Redis, 'hset' | 'hdel' | 'hgetallBuffer'>
  /** This process. */
  readonly owner: string
  readonly health: Pick<RouteHealth, 'isOpen' | 'take'>
  readonly keysOut: () => readonly KeyOut[]
  /** Tokens of the prompts that this process has sent with each key. */
  readonly keyTokens: () => readonly sluice.IKeyTokens[]
  /** Each view is dated by Redis's clock. */
  readonly clock: Pick<ClockDifference, 'ms'>
  readonly limits: Pick<UpstreamLimits, 'routeViewMs' | 'routeViewKeptMs' | 'routeViewRoutesMax'>
  readonly onFault: (error: unknown) => void
}

/** How many processes see a route in a state. */
interface Votes {
  failing: number
  well: number
}

/**
 * The views of routes of all proxy processes, exchanged over Redis, so that all of them show one status. Which routes a process sends
 * requests to it decides by what it sees itself.
 */
export class RouteViews {
  private readonly options: RouteViewsOptions
  /** By route; of processes that have seen something of it. */
  private votes: ReadonlyMap<string, Votes> | undefined
  private readAtMs = 0
  /** When this process last saw each route answer. */
  private readonly wellAtMs = new Map<string, number>()
  private timer: NodeJS.Timeout | undefined
  private stopped = false

  constructor(options: RouteViewsOptions) {
    this.options = options
  }

  start(): void {
    void this.exchange().then(() => {
      if (!this.stopped) this.timer = setTimeout(() => this.start(), this.options.limits.routeViewMs)
    })
  }

  async stop(): Promise<void> {
    this.stopped = true
    clearTimeout(this.timer)
    await this.options.commands.hdel(ROUTE_VIEWS_KEY, this.options.owner)
  }

  /**
   * Whether the processes together see the route serve: not where at least as many see it fail as see it answer. While Redis is
   * away, by what this process sees.
   */
  isOpen(routeId: string, nowMs: number): boolean {
    const { health, limits } = this.options
    const isFresh = this.votes !== undefined && performance.now() - this.readAtMs <= limits.routeViewKeptMs
    if (!isFresh) return health.isOpen(routeId, nowMs)
    const { failing, well } = this.votes?.get(routeId) ?? { failing: 0, well: 0 }
    return failing === 0 || failing < well
  }

  /** Tells what this process sees, and reads what all of them do. */
  async exchange(): Promise<void> {
    const { commands, owner, health, clock, limits, onFault } = this.options
    const atMs = Math.max(0, Math.floor(Date.now() - clock.ms))
    const { failing, well } = health.take(Date.now())
    const most = limits.routeViewRoutesMax
    const out = this.options.keysOut().slice(0, most)
    const byRedis = (ms: number): number => (ms === 0 ? 0 : Math.max(0, Math.ceil(ms - clock.ms)))
    const keysOut = out.map(({ untilMs, ...key }) => ({ ...key, untilMs: byRedis(untilMs) }))
    const tokens = this.options.keyTokens().slice(0, most)
    const states = { failing: failing.slice(0, most), well: this.recent(well).slice(0, most) }
    const view = { atMs, ...states, keysOut, keyTokens: [...tokens] }
    try {
      await commands.hset(ROUTE_VIEWS_KEY, owner, Buffer.from(sluice.RouteView.encode(view).finish()))
      await this.read(atMs)
    } catch (error) {
      onFault(error)
    }
  }

  private recent(well: readonly string[]): string[] {
    const nowMs = performance.now()
    for (const routeId of well) this.wellAtMs.set(routeId, nowMs)
    for (const [routeId, atMs] of this.wellAtMs) {
      if (nowMs - atMs > this.options.limits.routeViewKeptMs) this.wellAtMs.delete(routeId)
    }
    return [...this.wellAtMs.keys()]
  }

  private async read(nowMs: number): Promise<void> {
    const { commands, limits } = this.options
    const votes = new Map<string, Votes>()
    const over: string[] = []
    for (const [owner, bytes] of Object.entries(await commands.hgetallBuffer(ROUTE_VIEWS_KEY))) {
      const { atMs, failing, well } = sluice.RouteView.create(sluice.RouteView.decode(bytes))
      if (Math.abs(nowMs - atMs) > limits.routeViewKeptMs) {
        over.push(owner)
        continue
      }
      for (const routeId of failing) votesOf(votes, routeId).failing++
      for (const routeId of well) votesOf(votes, routeId).well++
    }
    this.votes = votes
    this.readAtMs = performance.now()
    // Of processes that died.
    if (over.length > 0) await commands.hdel(ROUTE_VIEWS_KEY, ...over)
  }
}

function votesOf(votes: Map<string, Votes>, routeId: string): Votes {
  const found = votes.get(routeId) ?? { failing: 0, well: 0 }
  votes.set(routeId, found)
  return found
}
