import type { ReceiptPaid } from '../../../contract/money/receipt.ts'
import type { FaultCause } from '../../../contract/net/connectionFault.ts'
import type { Settlements } from '../../admission/ending.ts'
import type { Holding, HoldWaiter } from '../../admission/holds.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { Limits } from '../../limits.ts'
import type { RequestMetrics } from '../../metrics/requestMetrics.ts'
import type { Permits } from '../../quotas/permit.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import type { Tracer } from '../../traces/tracer.ts'
import type { AnswerMemory } from '../../upstream/answerMemory.ts'
import type { CanaryWatch } from '../../upstream/canaryWatch.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import type { Transport } from '../../upstream/transport/transport.ts'
import type { LargeBodies } from '../largeBodies/largeBodies.ts'
import type { TokenCounter } from '../tokens/tokenCounter.ts'
import type { ActiveRuns } from './activeRuns.ts'
import type { AgentGate } from './agentGate.ts'

/** The payment of a request that is paid per call. */
export interface PaidFor {
  /** The receipt of the payment, once it is paid. */
  readonly receipt: ReceiptPaid | undefined
  /** The request carries no payment. */
  readonly isUnpaid: boolean
  /** Refuses a request that carries no payment with its price. @throws GatewayError x402 */
  quote(priced: Pick<HoldWaiter, 'requestId' | 'wantUnits' | 'holdMeta'>): Promise<void>
}

/** The services that the requests of one process share. */
export interface RunServices {
  readonly holds: Holding
  /** Takes holds that Redis keeps by themselves, and that may outlive this process. */
  readonly lastingHolds: Holding
  /** Wraps a source of holds so that this process's journal ends them, as it ends holds on leases. */
  readonly singly: (source: Holding) => Holding
  /** The payment of a request that is paid per call; absent for requests with a key. */
  readonly paid?: PaidFor
  readonly settlements: Settlements
  readonly permits: Permits
  readonly transport: Transport
  readonly health: RouteHealth
  /** Measures registered providers. */
  readonly canaries: CanaryWatch
  readonly limits: Limits
  readonly owner: string
  /** See `ownAddress`. */
  readonly publicUrl: string
  readonly metrics: RequestMetrics
  /** Absent where no traces are made. */
  readonly traces?: Tracer | undefined
  /** The output of one read from a provider, gathered here and written together; empty between reads. */
  readonly outgoing: OutBuffer
  /** The memory of answers that are read to their end. */
  readonly answers: AnswerMemory
  /** The share of it that registered providers have. */
  readonly registeredAnswers: AnswerMemory
  readonly active: ActiveRuns
  readonly agents: AgentGate
  readonly tokens: TokenCounter
  /** Reads large bodies in other threads. */
  readonly large: LargeBodies
  /** A request failed by a fault of the gateway itself. */
  readonly onCrash: (error: unknown, requestId: string) => void
  /** The usage that a provider reported contradicts itself. */
  readonly onUsageContradicted: (route: Pick<Route, 'id' | 'provider'>) => void
  /** @param cause of a connection that failed */
  readonly onRouteFault: (route: Pick<Route, 'id' | 'provider'>, reason: string, cause?: FaultCause) => void
}

/**
 * The services of a job with a hold that Redis keeps by itself; a job that is paid per request has its hold with the
 * payment.
 */
export function lastingServices(services: RunServices): RunServices {
  const { paid, singly, lastingHolds } = services
  return paid === undefined ? { ...services, holds: singly(lastingHolds) } : services
}
