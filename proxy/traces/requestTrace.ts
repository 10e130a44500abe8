import type { RequestContent } from './content/requestContent.ts'
import type { Sampler } from './sampler.ts'
import type { AttemptTarget } from './thread/attemptTarget.ts'
import { type ParentContext, writeTraceParent } from './traceContext.ts'
import { newSpanId, newTraceId } from './traceIds.ts'

/** A request, as its trace reads it. */
export interface TracedExchange {
  readonly id: string
  readonly startedAtMs: number
  /** On the clock of performance.now(). */
  readonly arrivedAt: number
  readonly head: {
    readonly method: string
    readonly path: string
    readonly traceParent?: string
    readonly traceState?: string
  }
  /** The pattern of its path; absent where no route has it. */
  readonly route?: string
  trace?: RequestTrace | undefined
}

/** One attempt at a provider. Times are milliseconds from the request's arrival. */
export class AttemptTrace {
  readonly target: AttemptTarget
  readonly number: number
  readonly startMs: number
  /** -1 until it has ended. */
  endMs = -1
  /** Of the provider's answer; 0 for none. */
  status = 0
  /** The class of its failure; '' for none. */
  error = ''
  private id = ''

  constructor(target: AttemptTarget, number: number, startMs: number) {
    this.target = target
    this.number = number
    this.startMs = startMs
  }

  /** Made when it is needed first: most attempts are not exported. */
  get spanId(): string {
    if (this.id === '') this.id = newSpanId()
    return this.id
  }
}

/** The trace of one request while it is served: its place in the trace of the client, and its attempts. */
export class RequestTrace {
  readonly traceId: string
  readonly parent: ParentContext | undefined
  /** The client's, of a trace that it began; '' for none. */
  readonly state: string
  readonly isSampled: boolean
  readonly attempts: AttemptTrace[] = []
  /** Of the error that the client was answered; 0 for none. */
  errorStatus = 0
  /** Absent for a request whose content is not captured, as most are. */
  content: RequestContent | undefined
  private id = ''
  private begun = 0
  private readonly arrivedAt: number
  private readonly attemptsMax: number

  constructor(
    arrivedAt: number,
    context: { readonly parent: ParentContext | undefined; readonly state: string },
    sample: Sampler,
    attemptsMax: number,
  ) {
    const { parent, state } = context
    this.traceId = parent?.traceId ?? newTraceId()
    this.parent = parent
    this.state = state
    this.isSampled = sample(this.traceId, parent?.isSampled)
    this.arrivedAt = arrivedAt
    this.attemptsMax = attemptsMax
  }

  /** Of the span of the request. */
  get spanId(): string {
    if (this.id === '') this.id = newSpanId()
    return this.id
  }

  /** Milliseconds since the request arrived. */
  get ageMs(): number {
    return performance.now() - this.arrivedAt
  }

  /** A provider is asked. */
  begin(target: AttemptTarget): AttemptTrace {
    const attempt = new AttemptTrace(target, ++this.begun, this.ageMs)
    if (this.attempts.length >= this.attemptsMax) this.attempts.shift()
    this.attempts.push(attempt)
    return attempt
  }

  /** `traceparent` for the provider of an attempt. */
  parentOf(attempt: AttemptTrace): string {
    return writeTraceParent(this.traceId, attempt.spanId, this.isSampled)
  }
}
