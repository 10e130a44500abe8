import { CLIENT_GONE } from '../../contract/money/receiptStatus.ts'
import type { AccessEntry, RequestRecorder } from '../metrics/accessLog.ts'
import type { ContentMemory } from './content/contentMemory.ts'
import { RequestContent } from './content/requestContent.ts'
import type { TraceLimits } from './limits.ts'
import { RequestTrace, type TracedExchange } from './requestTrace.ts'
import type { Sampler } from './sampler.ts'
import type { SpanQueue } from './spanQueue.ts'
import { type ParentContext, readTraceParent, readTraceState } from './traceContext.ts'
import { type Ending, recordOf } from './traceRecord.ts'

const SERVER_ERROR = 500
const NO_CONTEXT = { parent: undefined, state: '' } as const

/**
 * The traces of a process. A request that has ended becomes one record; the spans are made of it elsewhere. Those that the
 * sampler takes are exported, and those that end by a fault.
 */
export class Tracer implements RequestRecorder {
  private readonly sample: Sampler
  private readonly queue: SpanQueue
  private readonly limits: TraceLimits
  private readonly memory: ContentMemory | undefined
  /** Requests that have ended in this turn of the event loop. */
  private finished: Ending[] = []

  /** @param memory absent where no content is captured */
  constructor(sample: Sampler, queue: SpanQueue, limits: TraceLimits, memory?: ContentMemory) {
    this.memory = memory
    this.sample = sample
    this.queue = queue
    this.limits = limits
  }

  /** The trace of a request, from its first use on. */
  of(exchange: TracedExchange): RequestTrace {
    exchange.trace ??= new RequestTrace(
      exchange.arrivedAt,
      this.contextOf(exchange.head),
      this.sample,
      this.limits.traceAttemptsMax,
    )
    return exchange.trace
  }

  /**
   * The content of a request whose key lets it be captured, which whoever serves it tells about the answer.
   * @returns undefined where none is captured, or where its trace is not sampled
   */
  contentOf(exchange: TracedExchange & { readonly body: Buffer }): RequestContent | undefined {
    if (this.memory === undefined) return undefined
    const trace = this.of(exchange)
    if (trace.isSampled) trace.content = new RequestContent(this.memory, exchange.body)
    return trace.content
  }

  /** Takes a request with a hold, at its end. */
  ended(exchange: TracedExchange, entry: AccessEntry): void {
    const errorCode = entry.errorCode ?? ''
    this.take(exchange, entry, errorCode, errorCode !== '' && errorCode !== CLIENT_GONE)
  }

  /** Takes a request that was answered with an error, and that had no hold. */
  refused(exchange: TracedExchange, httpStatus: number, errorCode: string): void {
    this.take(exchange, null, errorCode, httpStatus >= SERVER_ERROR)
  }

  /** A request is answered with an error, whether or not it had a hold. */
  failed(exchange: TracedExchange, httpStatus: number): void {
    this.of(exchange).errorStatus = httpStatus
  }

  /** Exports what the receiver takes in a short time. */
  stop(): Promise<void> {
    this.queueEnded()
    return this.queue.stop()
  }

  private contextOf(head: TracedExchange['head']): {
    readonly parent: ParentContext | undefined
    readonly state: string
  } {
    const { traceParent = '', traceState = '' } = head
    if (traceParent === '') return NO_CONTEXT
    const parent = readTraceParent(traceParent)
    // Without a parent nobody knows which trace the state is of.
    return parent === undefined
      ? NO_CONTEXT
      : { parent, state: readTraceState(traceState, this.limits.traceStateCharactersMax) }
  }

  private take(exchange: TracedExchange, entry: AccessEntry | null, errorCode: string, isFault: boolean): void {
    const trace = this.of(exchange)
    if (!trace.isSampled && !isFault) return
    const ending = { exchange, trace, entry, errorCode, endMs: trace.ageMs }
    if (trace.content === undefined) this.finish(ending)
    else if (entry !== null) trace.content.whenClosed(() => this.finish(ending))
    else {
      trace.content.release()
      this.finish(ending)
    }
  }

  private finish(ending: Ending): void {
    // The status of an error is known once it is answered, which is in the same turn.
    if (this.finished.length === 0) setImmediate(() => this.queueEnded())
    this.finished.push(ending)
  }

  private queueEnded(): void {
    const ended = this.finished
    if (ended.length === 0) return
    this.finished = []
    for (const one of ended) {
      const { attempts, content } = one.trace
      const spans = 1 + attempts.length
      if (this.queue.hasRoom(spans)) {
        this.queue.add(JSON.stringify(recordOf(one, this.limits.tracePathCharactersMax)), spans, content)
        continue
      }
      this.queue.drop(spans)
      content?.release()
    }
  }
}
