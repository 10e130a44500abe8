import type { Logger } from 'pino'
import { OutageLog } from '../../contract/std/outageLog.ts'
import type { RuntimeLimits } from '../runtime/limits.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { Loop } from '../runtime/loop.ts'

/** How far a part of control may be behind. */
export interface Lag {
  readonly name: 'settlement' | 'export'
  /** From then on it is late, in milliseconds. */
  readonly lateMs: number
  /** In milliseconds. @throws when the server that knows it cannot be asked */
  readonly read: () => Promise<number>
}

/** Logs when a part of control begins to be late and when it has caught up, one line each. */
export function lagWatch(lags: readonly Lag[], log: Logger, limits: RuntimeLimits): Loop {
  const watched = lags.map(({ name, lateMs, read }) => {
    const outage = new OutageLog(
      {
        began: (lagMs) => logEvent(log, `${name}_late`, { lagMs: Math.round(Number(lagMs)) }),
        goesOn: () => {},
        ended: (lateForMs) => logEvent(log, `${name}_caught_up`, { lateForMs: Math.round(lateForMs) }),
      },
      limits.lagCheckMs,
    )
    return { name, lateMs, read, outage }
  })
  return new Loop('lags', limits.lagCheckMs, log, async () => {
    for (const { name, lateMs, read, outage } of watched) {
      // While a server is away, that is logged, and what is late is as it was.
      const lagMs = await read().catch(() => undefined)
      if (lagMs === undefined) continue
      if (lagMs > lateMs) outage.failed(name, lagMs)
      else outage.works(name)
    }
  })
}
