import type { Limits } from '../../../control/contract/limits.ts'
import type { Settling } from '../../admission/ending.ts'
import type { Holding } from '../../admission/holds.ts'
import type { Route } from '../../catalog/catalog.ts'
import type { RequestMetrics } from '../../metrics/requestMetrics.ts'
import type { OutBuffer } from '../../relay/outBuffer.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import type { Transport } from '../../upstream/transport.ts'
import type { ActiveRuns } from './activeRuns.ts'

/** What the requests of one process share. */
export interface RunServices {
  readonly holds: Holding
  readonly settlements: Settling
  readonly transport: Transport
  readonly health: RouteHealth
  readonly limits: Limits
  readonly owner: string
  readonly metrics: RequestMetrics
  /** What a read from a provider becomes is gathered here and written at once; empty between reads. */
  readonly outgoing: OutBuffer
  readonly active: ActiveRuns
  /** A request failed by a fault of the gateway itself. */
  readonly onCrash: (error: unknown, requestId: string) => void
  readonly onRouteFault: (route: Pick<Route, 'id' | 'provider'>, reason: string) => void
}
