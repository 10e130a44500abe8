import type { sluice } from '../wire/generated/messages.js'
import { SERVICE_STATES, type ServiceState } from './incidents.ts'
import { DAY_MS } from './time.ts'

/** The day of a time, in days since 1970 (UTC). */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS)
}

/** How long the service was seen in a state on a day. */
export interface Observed {
  /** Days since 1970, UTC. */
  readonly day: number
  readonly state: ServiceState
  readonly ms: number
}

/** Times by day and state, added up. Its size is that of the days in it times the number of states. */
export class ObservedTimes {
  private readonly ms = new Map<string, Observed>()

  add({ day, state, ms }: Observed): void {
    const name = `${day} ${state}`
    this.ms.set(name, { day, state, ms: (this.ms.get(name)?.ms ?? 0) + ms })
  }

  /** Everything that was added since the last call. */
  take(): Observed[] {
    const all = [...this.ms.values()]
    this.ms.clear()
    return all
  }
}

/** Reads a record; a state that a later version knows is undefined. */
export function observedOf({ day, state, ms }: sluice.ObservedRecord): Observed | undefined {
  const known = SERVICE_STATES.find((name) => name === state)
  return known && { day, state: known, ms }
}
