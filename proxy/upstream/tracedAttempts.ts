import type { AttemptTrace, RequestTrace } from '../traces/requestTrace.ts'
import type { AttemptsOptions } from './attemptsOptions.ts'
import { HeaderBlock } from './transport/headerBlock.ts'
import type { TransportFailure, UpstreamHeaders, UpstreamListener } from './transport/transport.ts'

/** An answer of 2xx that could not be used. */
const INVALID = 'invalid_answer'

/**
 * The same attempts, each of which is noted in the trace of their request; `options` itself where there is no trace.
 * @param isPrivate no provider gets the context of the trace, by which it could connect the request with others
 */
export function traced(options: AttemptsOptions, trace: RequestTrace | undefined, isPrivate: boolean): AttemptsOptions {
  if (trace === undefined) return options
  const { transport, makeRequest, onFault } = options
  let attempt: AttemptTrace | undefined
  return {
    ...options,
    makeRequest: (route, totalTimeoutMs, fresh) => {
      const request = makeRequest(route, totalTimeoutMs, fresh)
      const { id, key, origin, traceContext } = route.provider
      attempt = trace.begin({ provider: id, key: key?.id ?? '', model: route.upstreamModel, origin })
      if (traceContext === true && !isPrivate) request.traceHeaders = contextOf(trace, attempt)
      return request
    },
    transport: {
      send: (request, listener) =>
        transport.send(request, attempt === undefined ? listener : new TracedListener(trace, attempt, listener)),
      close: () => transport.close(),
    },
    onFault: (route, reason, cause) => {
      if (attempt !== undefined) end(trace, attempt, INVALID)
      onFault(route, reason, cause)
    },
  }
}

/** The headers of the context, by which the provider's spans are below that of the attempt. */
function contextOf(trace: RequestTrace, attempt: AttemptTrace): HeaderBlock {
  const headers = ['traceparent', trace.parentOf(attempt)]
  return new HeaderBlock(trace.state === '' ? headers : [...headers, 'tracestate', trace.state])
}

class TracedListener implements UpstreamListener {
  private readonly trace: RequestTrace
  private readonly attempt: AttemptTrace
  private readonly listener: UpstreamListener

  constructor(trace: RequestTrace, attempt: AttemptTrace, listener: UpstreamListener) {
    this.trace = trace
    this.attempt = attempt
    this.listener = listener
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    this.attempt.status = status
    if (status < 200 || status > 299) this.attempt.error = String(status)
    this.listener.onHead(status, headers)
  }

  onData(bytes: Buffer): void {
    this.listener.onData(bytes)
  }

  onEnd(): void {
    end(this.trace, this.attempt, '')
    this.listener.onEnd()
  }

  onFailure(failure: TransportFailure): void {
    end(this.trace, this.attempt, failure.kind)
    this.listener.onFailure(failure)
  }
}

/** Of several reasons the first one counts. */
function end(trace: RequestTrace, attempt: AttemptTrace, error: string): void {
  if (attempt.endMs < 0) attempt.endMs = trace.ageMs
  if (attempt.error === '') attempt.error = error
}
