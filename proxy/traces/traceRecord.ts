import type { AccessEntry } from '../metrics/accessLog.ts'
import type { AttemptTrace, RequestTrace, TracedExchange } from './requestTrace.ts'
import type { AttemptRecord, TraceRecord } from './thread/exportTask.ts'

/** A request that has ended. */
export interface Ending {
  readonly exchange: TracedExchange
  readonly trace: RequestTrace
  /** Of a request that had a hold; null for others. */
  readonly entry: AccessEntry | null
  readonly errorCode: string
  /** Milliseconds from its arrival. */
  readonly endMs: number
}

const OK = 200

/** The request as the thread that exports reads it. @param pathCharactersMax the rest of a path is cut off */
export function recordOf({ exchange, trace, entry, errorCode, endMs }: Ending, pathCharactersMax: number): TraceRecord {
  const { method, path } = exchange.head
  return {
    id: exchange.id,
    traceId: trace.traceId,
    spanId: trace.spanId,
    parentId: trace.parent?.spanId ?? '',
    state: trace.state,
    isSampled: trace.isSampled,
    startedAtMs: exchange.startedAtMs,
    durationMs: endMs,
    method,
    path: path.slice(0, pathCharactersMax),
    route: exchange.route ?? '',
    status: statusOf(trace, entry),
    errorCode,
    entry,
    attempts: trace.attempts.map((attempt) => attemptRecord(attempt, endMs)),
  }
}

function attemptRecord(attempt: AttemptTrace, requestEndMs: number): AttemptRecord {
  const { target, spanId, number, startMs, endMs, status, error } = attempt
  // A request may be decided by an answer whose connection ends later, or that is given up with it.
  const lastMs = endMs < 0 ? requestEndMs : Math.min(endMs, requestEndMs)
  return { spanId, number, startMs, endMs: lastMs, status, error, ...target }
}

/** Errors after the first bytes of an answer cannot change its status. */
function statusOf({ errorStatus }: RequestTrace, entry: AccessEntry | null): number {
  if (errorStatus > 0) return errorStatus
  return entry?.status === 'ok' || entry?.status === 'partial' ? OK : 0
}
