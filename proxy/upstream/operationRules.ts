import type { Endpoint } from '../../control/contract/catalog.ts'
import type { FailureKind } from './transport.ts'

/** How an operation deals with routes that fail, and with what providers say against it. */
export interface OperationRule {
  /**
   * Until when another route may be asked: before any output has reached the client, or only as long as it is certain
   * that no provider has taken the request, which is the rule for what is billed whether or not its answer arrives.
   */
  readonly failover: 'before_output' | 'before_taken'
  /** The client sees the provider's own 4xx status where it rejects the request; else 400. */
  readonly ownStatus: boolean
}

const SERVED_AT_ONCE: OperationRule = { failover: 'before_output', ownStatus: false }
const JOB: OperationRule = { failover: 'before_taken', ownStatus: true }

/** The rule of every operation. */
export const OPERATION_RULES: Readonly<Record<Endpoint, OperationRule>> = {
  chat: SERVED_AT_ONCE,
  completions: SERVED_AT_ONCE,
  messages: SERVED_AT_ONCE,
  responses: SERVED_AT_ONCE,
  embeddings: SERVED_AT_ONCE,
  images: SERVED_AT_ONCE,
  image_edits: SERVED_AT_ONCE,
  speech: SERVED_AT_ONCE,
  transcriptions: SERVED_AT_ONCE,
  rerank: SERVED_AT_ONCE,
  videos: JOB,
}

/** Whether another route may be asked after a failure of the transport, before any output. */
export function mayMoveOnAfterFailure(rule: OperationRule, kind: FailureKind): boolean {
  return rule.failover === 'before_output' || kind === 'connect' || kind === 'connect_timeout'
}

/**
 * Whether another route may be asked after an error status that is the route's own. What 5xx and 408 leave open is
 * whether the provider, behind whatever answered for it, has taken the request.
 */
export function mayMoveOnAfterStatus(rule: OperationRule, status: number): boolean {
  return rule.failover === 'before_output' || (status >= 400 && status < 500 && status !== 408)
}
