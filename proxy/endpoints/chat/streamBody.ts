import type { WholeEvents } from '../../dialects/shared/codec.ts'
import type { AnswerBounds } from '../../json/jsonObject.ts'
import type { Limits } from '../../limits.ts'
import { type BodyKind, bodyKind } from '../../sse/bodyKind.ts'

const LF = 10
const CR = 13
const SPACE = 32
const DATA = Buffer.from('data: ')
const END = Buffer.from('\n\ndata: [DONE]\n\n')

/** The bounds of an answer in one piece. */
export type StreamLimits = AnswerBounds & Pick<Limits, 'eventBytesMax' | 'eventParsedBytesMax'>

/**
 * The body of an answer to a request for a stream, which may be labelled as anything: an event stream, or an answer in one
 * piece, which becomes a stream.
 */
export class StreamBody {
  /** It is neither. */
  unusable = false
  private readonly isLabelled: boolean
  private readonly limits: StreamLimits
  private readonly wholeEvents: WholeEvents | undefined
  private isEvents = false
  private kind: BodyKind = 'unknown'
  private parts: Buffer[] = []
  private partsBytes = 0

  /**
   * @param isLabelled the provider calls it an event stream
   * @param wholeEvents writes an answer in one piece as a stream; absent is as one event
   */
  constructor(isLabelled: boolean, limits: StreamLimits, wholeEvents?: WholeEvents) {
    this.isLabelled = isLabelled
    this.limits = limits
    this.wholeEvents = wholeEvents
  }

  /** Takes the next bytes. @returns those of an event stream, or null while it is not known, or known not to be one */
  push(bytes: Buffer): Buffer | null {
    if (this.isEvents) return bytes
    if (this.kind === 'unknown') {
      const head = this.parts.length === 0 ? bytes : Buffer.concat([...this.parts, bytes])
      this.kind = bodyKind(head)
      if (this.kind === 'events' || (this.kind === 'other' && this.isLabelled)) return this.begin(head)
    }
    // The bytes are only lent.
    this.parts.push(Buffer.from(bytes))
    this.partsBytes += bytes.length
    this.unusable = this.kind === 'other' || this.partsBytes > this.bytesMax
    return null
  }

  /** The body has ended. @returns the rest of it, as an event stream */
  end(): Buffer {
    const rest = Buffer.concat(this.parts)
    this.parts = []
    if (this.kind !== 'object') return rest
    return this.wholeEvents === undefined ? oneEvent(rest) : this.wholeEvents(rest, this.limits)
  }

  /** An answer in one piece that is written anew is parsed. */
  private get bytesMax(): number {
    const { eventBytesMax, eventParsedBytesMax } = this.limits
    return this.wholeEvents === undefined ? eventBytesMax : Math.min(eventBytesMax, eventParsedBytesMax)
  }

  private begin(head: Buffer): Buffer {
    this.isEvents = true
    this.parts = []
    return head
  }
}

function oneEvent(body: Buffer): Buffer {
  // In JSON a line end can only be between tokens.
  for (let at = 0; at < body.length; at++) if (body[at] === LF || body[at] === CR) body[at] = SPACE
  return Buffer.concat([DATA, body, END])
}
