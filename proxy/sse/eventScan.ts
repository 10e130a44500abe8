import { isSameName, JsonScan } from '../json/jsonScan.ts'
import { jsonTextBytes } from '../json/jsonText.ts'

const OPEN_BRACE = 123
const LETTER_N = 110

/** The events of a Messages stream, by their number in `EventScan.kind`. */
export const EVENT_KINDS = [
  'content_block_delta',
  'content_block_start',
  'content_block_stop',
  'message_start',
  'message_delta',
  'message_stop',
  'ping',
  'error',
]
const KIND_BYTES = EVENT_KINDS.map((kind) => Buffer.from(`"${kind}"`))

export const MESSAGE_START = EVENT_KINDS.indexOf('message_start')
export const MESSAGE_STOP = EVENT_KINDS.indexOf('message_stop')
export const DELTA = EVENT_KINDS.indexOf('content_block_delta')

const NAMES = {
  type: Buffer.from('type'),
  message: Buffer.from('message'),
  delta: Buffer.from('delta'),
  block: Buffer.from('content_block'),
  receipt: Buffer.from('receipt'),
  id: Buffer.from('id'),
  model: Buffer.from('model'),
  stopReason: Buffer.from('stop_reason'),
}
const TEXT = Buffer.from('text')
const THINKING = Buffer.from('thinking')
/** The members of a block or a delta with output of the model. */
const OUTPUT = [TEXT, THINKING, ...['name', 'input', 'data'].map((name) => Buffer.from(name))]
/** JSON within JSON, of which a good part is escapes. */
const PARTIAL_JSON = Buffer.from('partial_json')

/**
 * Finds what the relay of a Messages stream needs in the JSON bytes of one event, in one pass. Positions are offsets
 * into the bytes given to `scan`; a start of -1 means absent.
 */
export class EventScan extends JsonScan {
  /** Place in EVENT_KINDS, or -1 for an event that is not known. */
  kind = -1
  /** Just after the opening brace of the member `message`. */
  messageStart = -1
  /** The id and the model within `message`. */
  idStart = -1
  idEnd = -1
  modelStart = -1
  modelEnd = -1
  /** The event or its message has a member `receipt`, which is the gateway's own. */
  hasReceipt = false
  /** The event has the reason why the message ends. */
  finished = false
  /** The block or the delta has a type. */
  isTyped = false
  /** A member of the block or the delta is null. */
  hasNull = false
  /** The kind of the block that a delta or a block with words is of. */
  words: 'text' | 'thinking' | undefined = undefined
  /** Bytes of text, thinking or tool calls that the event adds. Text has its escapes included. */
  outputBytes = 0

  /**
   * Scans one JSON object.
   * @returns false when the bytes are not one complete JSON object
   */
  scan(bytes: Buffer, start: number, end: number): boolean {
    this.bytes = bytes
    this.at = start
    this.end = end
    this.kind = -1
    this.messageStart = this.idStart = this.modelStart = -1
    this.finished = this.hasReceipt = this.isTyped = this.hasNull = false
    this.outputBytes = 0
    this.words = undefined
    this.skipSpace()
    if (this.take() !== OPEN_BRACE || !this.members(TOP)) return false
    this.skipSpace()
    return this.at === end
  }

  protected value(level: number, nameStart: number, nameEnd: number): boolean {
    const start = this.at
    if (level === TOP && this.bytes[start] === OPEN_BRACE) {
      const inner = this.innerLevel(nameStart, nameEnd)
      if (inner !== TOP) {
        this.at++
        if (inner === MESSAGE) this.messageStart = this.at
        return this.members(inner)
      }
    }
    if (!this.passValue()) return false
    if (level !== PIECE && isSameName(this.bytes, nameStart, nameEnd, NAMES.receipt)) this.hasReceipt = true
    if (level === PIECE) this.notePiece(nameStart, nameEnd, start)
    else this.note(level, nameStart, nameEnd, start)
    return true
  }

  private innerLevel(nameStart: number, nameEnd: number): number {
    if (this.isName(nameStart, nameEnd, NAMES.delta) || this.isName(nameStart, nameEnd, NAMES.block)) return PIECE
    return this.isName(nameStart, nameEnd, NAMES.message) ? MESSAGE : TOP
  }

  private note(level: number, nameStart: number, nameEnd: number, start: number): void {
    if (level === MESSAGE) this.noteMessage(nameStart, nameEnd, start)
    else if (this.isName(nameStart, nameEnd, NAMES.type)) {
      this.kind = KIND_BYTES.findIndex((kind) => this.equals(start, kind))
    }
  }

  private noteMessage(nameStart: number, nameEnd: number, start: number): void {
    if (this.isName(nameStart, nameEnd, NAMES.id)) {
      this.idStart = start
      this.idEnd = this.at
    } else if (this.isName(nameStart, nameEnd, NAMES.model)) {
      this.modelStart = start
      this.modelEnd = this.at
    }
  }

  private notePiece(nameStart: number, nameEnd: number, start: number): void {
    if (this.isName(nameStart, nameEnd, NAMES.type)) {
      this.isTyped = true
      return
    }
    if (this.bytes[start] === LETTER_N) this.hasNull = true
    if (!this.holdsSomething(start)) return
    if (this.isName(nameStart, nameEnd, NAMES.stopReason)) this.finished = true
    for (const name of OUTPUT) {
      if (!this.isName(nameStart, nameEnd, name)) continue
      this.outputBytes += this.at - start - 2
      if (name === TEXT) this.words = 'text'
      else if (name === THINKING) this.words = 'thinking'
    }
    if (!this.isName(nameStart, nameEnd, PARTIAL_JSON)) return
    this.outputBytes += jsonTextBytes(this.bytes, start + 1, this.at - 1)
  }

  private equals(start: number, text: Buffer): boolean {
    if (this.at - start !== text.length) return false
    for (let i = 0; i < text.length; i++) if (this.bytes[start + i] !== text[i]) return false
    return true
  }
}

const TOP = 0
const MESSAGE = 1
const PIECE = 2
