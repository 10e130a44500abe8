import type { Endpoint } from '../../contract/catalog/catalog.ts'
import type { FailureKind } from './transport/transport.ts'

/**
 * Until when another route may be asked, once one has failed.
 * - `before_output`: whatever happened, as long as no output has reached the client.
 * - `when_refused`: only where no provider was reached, or one has said that it did not serve. Silence and an answer that
 *   cannot be read are final, because the provider may bill for what it sent.
 * - `when_not_taken`: only where it is certain that no provider has taken the request. What 5xx and 408 leave open is
 *   whether the provider, behind whatever answered for it, has: it would then work, and bill, without anybody's knowing.
 */
export type Failover = 'before_output' | 'when_refused' | 'when_not_taken'

/** How an operation deals with routes that fail, and with what providers say against it. */
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

/** Whether another route may be asked after an answer of status 200 that is none. */
export function mayMoveOnAfterAnswer(rule: OperationRule): boolean {
  return rule.failover === 'before_output'
}

/** Whether another route may be asked after an error status that is the route's own. */
export function mayMoveOnAfterStatus(rule: OperationRule, status: number): boolean {
  if (rule.failover === 'before_output') return true
  const isTimeout = status === 408 || status === 504
  return rule.failover === 'when_refused' ? !isTimeout : status < 500 && !isTimeout
}

/** Whether the request may be sent on a connection that was kept from an earlier one. */
export function mayReuseConnection(rule: OperationRule): boolean {
  return rule.failover === 'before_output'
}

/** The rule of an endpoint. Who pays for a request by itself sees the provider's own status; chat is the same for everybody. */
export function ruleOf(endpoint: Endpoint, isPaid: boolean): OperationRule {
  const rule = OPERATION_RULES[endpoint]
  const isChat = endpoint === 'chat' || endpoint === 'completions'
  return isPaid && !isChat ? { ...rule, ownStatus: true } : rule
}
