import type { HttpResponse } from 'uWebSockets.js'
import type { Behaviour } from './grammar.ts'
import type { Outcome, Served, ServedLog } from './log.ts'
import type { ChatBody, RequestHead } from './request.ts'
import type { ReportedUsage } from './usage.ts'

/** One request from its arrival to its line in the log, which is written exactly once. */
export class Exchange {
  readonly res: HttpResponse
  request: ChatBody | undefined
  head: RequestHead | undefined
  /** No method of `res` may be called any more. */
  ended = false
  /** Called when the client disconnects, so that a stream can leave its timer. */
  onGone: (() => void) | undefined
  private readonly log: ServedLog
  private readonly served: Served

  constructor(res: HttpResponse, log: ServedLog, requestId: string | null) {
    this.res = res
    this.log = log
    this.served = {
      n: 0,
      at_ms: Date.now(),
      end_ms: 0,
      model: '',
      stream: false,
      status: 0,
      outcome: 'client_gone',
      frames_sent: 0,
      content_bytes: 0,
      usage: null,
      request_id: requestId,
      prompt_bytes: 0,
    }
    log.requestArrived(this.served)
    res.onAborted(() => this.gone())
  }

  accept(request: ChatBody, head: RequestHead, path: string): void {
    this.served.path = path
    this.request = request
    this.head = head
    this.served.model = request.model
    this.served.stream = request.stream
    this.served.prompt_bytes = request.promptBytes
  }

  /** Takes a request that is not for chat. */
  acceptMedia(path: string, model: string, fields: Readonly<Record<string, unknown>>): void {
    this.served.path = path
    this.served.model = model
    this.served.fields = fields
    this.served.quantity = null
  }

  /** Records the billed quantity or usage of the answer. */
  billed(quantity: number | null, usage: ReportedUsage | null): void {
    this.served.quantity = quantity
    this.served.usage = usage
  }

  /** Records the amounts written to the connection so far. */
  sent(status: number, frames: number, contentBytes: number, usage: ReportedUsage | null): void {
    this.served.status = status
    this.served.frames_sent = frames
    this.served.content_bytes = contentBytes
    this.served.usage = usage
  }

  /** Ends the response in the regular way and writes the log line. */
  end(outcome: Outcome, body: Buffer | string): void {
    if (this.ended) return
    this.ended = true
    this.res.cork(() => this.res.end(body))
    this.record(outcome)
  }

  /** Destroys the connection after the data written before, and writes the log line. */
  destroy(): void {
    // Closing inside a cork would drop the bytes that the cork still holds.
    setImmediate(() => {
      if (this.ended) return
      this.ended = true
      this.record('cut')
      this.res.close()
    })
  }

  private gone(): void {
    if (this.ended) return
    this.ended = true
    this.onGone?.()
    this.record('client_gone')
  }

  private record(outcome: Outcome): void {
    this.served.outcome = outcome
    this.served.end_ms = Date.now()
    this.log.record(this.served)
  }
}

/** Content frames that an answer to this request holds, and why it ends there. */
export function contentLimit(behaviour: Behaviour, request: ChatBody): { frames: number; finishReason: string } {
  if (behaviour.echo) return { frames: 1, finishReason: 'stop' }
  const frames = Math.max(0, Math.min(behaviour.chunks, Math.floor(request.maxTokens)))
  if (frames < behaviour.chunks) return { frames, finishReason: 'length' }
  return {
    frames,
    finishReason: behaviour.tool && request.kind !== 'text' ? 'tool_calls' : (behaviour.quirks?.stop ?? 'stop'),
  }
}

/** The answer of `echo`: the request as it arrived here, without the credential. */
export function echoText({ request, head }: Exchange): string {
  return JSON.stringify({
    body: request?.body,
    headers: head?.headerNames,
    request_id: head?.requestId,
    authorization: head?.authorized,
  })
}
