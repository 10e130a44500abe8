import { JsonScan } from './jsonScan.ts'

const COMMA = 44
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const LETTER_N = 110

const NAMES = {
  id: Buffer.from('id'),
  model: Buffer.from('model'),
  usage: Buffer.from('usage'),
  choices: Buffer.from('choices'),
  created: Buffer.from('created'),
  error: Buffer.from('error'),
  delta: Buffer.from('delta'),
  text: Buffer.from('text'),
  role: Buffer.from('role'),
  finishReason: Buffer.from('finish_reason'),
}

/**
 * Finds what a chunk's relay needs in the JSON bytes of one chat.completion.chunk, in one pass and without making a
 * string or an object. Positions are offsets into the bytes given to `scan`; a start of -1 means absent.
 */
export class ChunkScan extends JsonScan {
  /** Just after the opening brace. */
  bodyStart = 0
  idStart = -1
  idEnd = -1
  modelStart = -1
  modelEnd = -1
  /** The member `usage` with its name; the value from usageStart. */
  usageNameStart = -1
  usageStart = -1
  usageEnd = -1
  usageIsNull = false
  createdStart = -1
  createdEnd = -1
  errorStart = -1
  errorEnd = -1
  /** At least one choice. */
  hasChoices = false
  /** A choice has a finish_reason. */
  finished = false
  /** Bytes of text, reasoning or tool calls that the choices add, escapes included. */
  outputBytes = 0

  /**
   * Scans one JSON object.
   * @returns false when the bytes are not one complete JSON object
   */
  scan(bytes: Buffer, start: number, end: number): boolean {
    this.reset(bytes, start, end)
    this.skipSpace()
    if (this.take() !== OPEN_BRACE) return false
    this.bodyStart = this.at
    if (!this.members(TOP)) return false
    this.skipSpace()
    return this.at === end
  }

  private reset(bytes: Buffer, start: number, end: number): void {
    this.bytes = bytes
    this.at = start
    this.end = end
    this.idStart = this.modelStart = this.usageNameStart = this.usageStart = this.createdStart = this.errorStart = -1
    this.usageIsNull = this.hasChoices = this.finished = false
    this.outputBytes = 0
  }

  protected value(level: number, nameStart: number, nameEnd: number): boolean {
    const start = this.at
    if (level === TOP) {
      if (this.isName(nameStart, nameEnd, NAMES.choices)) return this.array(CHOICE)
      if (!this.passValue()) return false
      this.noteTop(nameStart, nameEnd, start)
      return true
    }
    if (level === CHOICE) {
      if (this.isName(nameStart, nameEnd, NAMES.delta) && this.bytes[start] === OPEN_BRACE) {
        this.at++
        return this.members(DELTA)
      }
      if (!this.passValue()) return false
      const holds = this.holdsSomething(start)
      if (holds && this.isName(nameStart, nameEnd, NAMES.finishReason)) this.finished = true
      if (holds && this.isName(nameStart, nameEnd, NAMES.text)) this.outputBytes += this.at - start - 2
      return true
    }
    if (!this.passValue()) return false
    if (this.holdsSomething(start) && !this.isName(nameStart, nameEnd, NAMES.role)) {
      this.outputBytes += this.at - start - 2
    }
    return true
  }

  private noteTop(nameStart: number, nameEnd: number, start: number): void {
    if (this.isName(nameStart, nameEnd, NAMES.id)) {
      this.idStart = start
      this.idEnd = this.at
    } else if (this.isName(nameStart, nameEnd, NAMES.model)) {
      this.modelStart = start
      this.modelEnd = this.at
    } else if (this.isName(nameStart, nameEnd, NAMES.usage)) {
      this.usageNameStart = nameStart
      this.usageStart = start
      this.usageEnd = this.at
      this.usageIsNull = this.bytes[start] === LETTER_N
    } else if (this.isName(nameStart, nameEnd, NAMES.created)) {
      this.createdStart = start
      this.createdEnd = this.at
    } else if (this.isName(nameStart, nameEnd, NAMES.error) && this.bytes[start] !== LETTER_N) {
      this.errorStart = start
      this.errorEnd = this.at
    }
  }

  private array(level: number): boolean {
    if (this.bytes[this.at] !== OPEN_BRACKET) return this.passValue()
    this.at++
    this.skipSpace()
    if (this.bytes[this.at] === CLOSE_BRACKET) {
      this.at++
      return true
    }
    this.hasChoices = true
    while (this.at < this.end) {
      this.skipSpace()
      if (this.bytes[this.at] === OPEN_BRACE) {
        this.at++
        if (!this.members(level)) return false
      } else if (!this.passValue()) {
        return false
      }
      this.skipSpace()
      const separator = this.take()
      if (separator === CLOSE_BRACKET) return true
      if (separator !== COMMA) return false
    }
    return false
  }
}

const TOP = 0
const CHOICE = 1
const DELTA = 2
