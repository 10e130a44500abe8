import type { Endpoint } from '../../contract/catalog/catalog.ts'
import { ownerOfStatus } from '../../contract/providers/providerFault.ts'
import type { FailureKind } from './transport/transport.ts'

/**
 * Until when another route may be asked after one has failed.
 * - `before_output`: after any failure, as long as no output has reached the client.
 * - `when_refused`: only when no provider was reached, or one reported that it did not serve. Silence and unreadable answers
 *   are final, because the provider may bill for them.
 * - `when_not_taken`: only when it is certain that no provider has taken the request. After 5xx and 408 the provider, behind
 *   a gateway that answered for it, may have taken it: it would then work, and bill, unnoticed.
 */
export type Failover = 'before_output' | 'when_refused' | 'when_not_taken'

/** How an operation handles failing routes and error answers of providers. */
export interface OperationRule {
  readonly failover: Failover
  /** The client sees the provider's own 4xx status where it rejects the request; else 400. */
  readonly ownStatus: boolean
}

const SERVED_AT_ONCE: OperationRule = { failover: 'before_output', ownStatus: false }
const BILLED_WHEN_MADE: OperationRule = { failover: 'when_refused', ownStatus: false }
// A tool has one upstream, whose own status the client sees.
const TOOL: OperationRule = { failover: 'when_not_taken', ownStatus: true }
const JOB: OperationRule = { failover: 'when_not_taken', ownStatus: true }

/** The rule of every operation. */
export const OPERATION_RULES: Readonly<Record<Endpoint, OperationRule>> = {
  chat: SERVED_AT_ONCE,
  completions: SERVED_AT_ONCE,
  messages: SERVED_AT_ONCE,
  responses: SERVED_AT_ONCE,
  embeddings: SERVED_AT_ONCE,
  images: BILLED_WHEN_MADE,
  image_edits: BILLED_WHEN_MADE,
  speech: SERVED_AT_ONCE,
  transcriptions: SERVED_AT_ONCE,
  rerank: SERVED_AT_ONCE,
  videos: JOB,
  tools: TOOL,
}

/** Whether another route may be asked after a failure of the transport, before any output. */
export function mayMoveOnAfterFailure(rule: OperationRule, kind: FailureKind): boolean {
  return rule.failover === 'before_output' || kind === 'connect' || kind === 'connect_timeout'
}

/** Whether to fail over after an answer of status 200 with an unusable body. */
export function mayMoveOnAfterAnswer(rule: OperationRule): boolean {
  return rule.failover === 'before_output'
}

/** Whether another route may be asked after an error status that is the route's own. */
export function mayMoveOnAfterStatus(rule: OperationRule, status: number): boolean {
  if (rule.failover === 'before_output') return true
  const isTimeout = ownerOfStatus(status) === 'timeout'
  return rule.failover === 'when_refused' ? !isTimeout : status < 500 && !isTimeout
}

/** Whether the request may be sent on a connection that was kept from an earlier one. */
export function mayReuseConnection(rule: OperationRule): boolean {
  return rule.failover === 'before_output'
}

/** The rule of an endpoint. Clients that pay per request see the provider's own status; chat is the same for all clients. */
export function ruleOf(endpoint: Endpoint, isPaid: boolean): OperationRule {
  const rule = OPERATION_RULES[endpoint]
  const isChat = endpoint === 'chat' || endpoint === 'completions'
  return isPaid && !isChat ? { ...rule, ownStatus: true } : rule
}
