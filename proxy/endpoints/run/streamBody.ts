import type { DialectLimits } from '../../dialects/limits.ts'
import type { WholeEvents } from '../../dialects/shared/codec.ts'
import type { AnswerBounds } from '../../json/jsonObject.ts'
import { type BodyKind, bodyKind } from '../../sse/bodyKind.ts'

const EVENT_STREAM = 'text/event-stream'
const LF = 10
const CR = 13
const SPACE = 32
const OPEN_BRACE = 123
const DATA = Buffer.from('data: ')
const END = Buffer.from('\n\ndata: [DONE]\n\n')

/** The bounds of an answer in one piece. */
export type StreamLimits = AnswerBounds & Pick<DialectLimits, 'eventBytesMax' | 'eventParsedBytesMax'>

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
   * @param label the content type that the provider states; absent is an event stream
   * @param wholeEvents writes an answer in one piece as a stream; absent is as one event
   */
  constructor(label: string | undefined, limits: StreamLimits, wholeEvents?: WholeEvents) {
    this.isLabelled = label === undefined || label.toLowerCase().startsWith(EVENT_STREAM)
    this.limits = limits
    this.wholeEvents = wholeEvents
  }

  /** It is an answer in one piece. */
  get isWhole(): boolean {
    return this.kind === 'object'
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
    if (!this.isWhole) return rest
    const object = rest.subarray(rest.indexOf(OPEN_BRACE))
    return this.wholeEvents === undefined ? oneEvent(object) : this.wholeEvents(object, this.limits)
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

/** An answer in one piece as the one event of a stream. */
export function oneEvent(body: Buffer): Buffer {
  return Buffer.concat([DATA, onOneLine(body), END])
}

/** JSON without line ends, which can only be between its tokens; in the same bytes. */
export function onOneLine(json: Buffer): Buffer {
  for (let at = 0; at < json.length; at++) if (json[at] === LF || json[at] === CR) json[at] = SPACE
  return json
}
