import type { Logger } from 'pino'
import { OutageLog } from '../../contract/std/outageLog.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { logEvent } from '../logEvents.ts'
import type { MetricsLimits } from './limits.ts'

/** Logs the outages of Redis that the connections of a process meet, in few lines. @param connections by their names */
export function logOutages(
  connections: Readonly<Record<string, Redis>>,
  log: Logger,
  limits: Pick<MetricsLimits, 'outageLogMs'>,
): void {
  const outage = new OutageLog(
    {
      began: (err) => logEvent(log, 'redis_connection_failed', { err }),
      goesOn: (err, failures) => logEvent(log, 'redis_still_away', { failures, reason: String(err) }),
      ended: (outageMs) => logEvent(log, 'redis_connection_restored', { outageMs: Math.round(outageMs) }),
    },
    limits.outageLogMs,
  )
  for (const [name, connection] of Object.entries(connections)) {
    connection.on('error', (error: unknown) => outage.failed(name, error))
    connection.on('ready', () => outage.works(name))
  }
}
