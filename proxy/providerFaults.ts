import type { Logger } from 'pino'
import type { RunServices } from './endpoints/run/services.ts'
import { logEvent } from './logEvents.ts'
import type { RequestMetrics } from './metrics/requestMetrics.ts'
import type { KeyHealthOptions } from './upstream/keys/keyHealth.ts'

/** Counts and logs the faults of providers that clients do not see. */
export function providerFaults(
  metrics: RequestMetrics,
  log: Logger,
): Pick<RunServices, 'onRouteFault' | 'onUsageContradicted'> {
  return {
    onRouteFault: (route, reason, cause) => {
      metrics.noteRouteFault(route.provider.id)
      if (cause !== undefined) metrics.noteConnectionFault(cause.kind)
      logEvent(log, 'route_failed', { route: route.id, reason, ...(cause && { cause: cause.code || cause.kind }) })
    },
    onUsageContradicted: ({ id, provider }) => {
      // Such a provider does it in every answer, and a line for each would say no more.
      if (metrics.noteContradiction(provider.id)) {
        logEvent(log, 'usage_contradicted', { provider: provider.id, route: id })
      }
    },
  }
}

/** Counts the keys of providers that are put out, and logs those that somebody has to replace. */
export function keyFaults(metrics: RequestMetrics, log: Logger): KeyHealthOptions['onOut'] {
  return ({ name }, fault, isNew) => {
    metrics.noteKeyFault(name, fault)
    if (fault !== 'rate' && isNew) logEvent(log, 'provider_key_refused', { key: name, fault })
  }
}
