import type { UpstreamLimits } from './limits.ts'

/** The part that a new time has in the average. */
const NEW_SHARE = 0.2

interface Average {
  ms: number
  atMs: number
}

/** The recent time to the first output of streams, by route, as this process has measured it. */
export class FirstTokens {
  private readonly limits: UpstreamLimits
  private readonly averages = new Map<string, Average>()

  constructor(limits: UpstreamLimits) {
    this.limits = limits
  }

  /** A stream of the route has had its first output. @param ms since it was asked for */
  note(routeId: string, ms: number, nowMs: number): void {
    const known = this.averages.get(routeId)
    if (known !== undefined && this.isRecent(known, nowMs)) {
      known.ms += (ms - known.ms) * NEW_SHARE
      known.atMs = nowMs
      return
    }
    this.averages.delete(routeId)
    const [oldest] = this.averages.keys()
    if (oldest !== undefined && this.averages.size >= this.limits.firstTokenRoutesMax) this.averages.delete(oldest)
    this.averages.set(routeId, { ms, atMs: nowMs })
  }

  /** @returns undefined for a route of which no recent stream is known */
  of(routeId: string, nowMs: number): number | undefined {
    const known = this.averages.get(routeId)
    return known !== undefined && this.isRecent(known, nowMs) ? known.ms : undefined
  }

  private isRecent({ atMs }: Average, nowMs: number): boolean {
    return nowMs - atMs < this.limits.firstTokenKeptMs
  }
}
