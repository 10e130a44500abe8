import { type BodyKind, bodyKind } from '../../sse/bodyKind.ts'

const LF = 10
const CR = 13
const SPACE = 32
const DATA = Buffer.from('data: ')
const END = Buffer.from('\n\ndata: [DONE]\n\n')

/**
 * The body of an answer to a request for a stream, which may be labelled as anything: an event stream, or an answer in one
 * piece, which becomes a stream of one event.
 */
export class StreamBody {
  /** It is neither. */
  unusable = false
  private readonly isLabelled: boolean
  private readonly bytesMax: number
  private isEvents = false
  private kind: BodyKind = 'unknown'
  private parts: Buffer[] = []
  private partsBytes = 0

  /**
   * @param isLabelled the provider calls it an event stream
   * @param bytesMax of an answer in one piece
   */
  constructor(isLabelled: boolean, bytesMax: number) {
    this.isLabelled = isLabelled
    this.bytesMax = bytesMax
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

  /** The body has ended. @returns what is left of it, as an event stream */
  end(): Buffer {
    const rest = Buffer.concat(this.parts)
    this.parts = []
    if (this.kind !== 'object') return rest
    // In JSON a line end can only be between tokens.
    for (let at = 0; at < rest.length; at++) if (rest[at] === LF || rest[at] === CR) rest[at] = SPACE
    return Buffer.concat([DATA, rest, END])
  }

  private begin(head: Buffer): Buffer {
    this.isEvents = true
    this.parts = []
    return head
  }
}
