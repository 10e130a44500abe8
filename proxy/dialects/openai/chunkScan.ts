import { isName, isSameName } from '../../json/jsonScan.ts'
import { soundStringEnd, soundValueEnd } from '../../json/soundJson.ts'
import { CallScan } from './callScan.ts'
import { ChoiceScan } from './choiceScan.ts'
import { NAMES } from './chunkNames.ts'

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
const LETTER_N = 110

/**
 * Finds what a chunk's relay needs in the JSON bytes of one chat.completion.chunk or text_completion, in one pass and
 * without making a string or an object. Positions are offsets into the bytes given to `scan`; a start of -1 means
 * absent.
 */
export class ChunkScan {
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
  objectStart = -1
  objectEnd = -1
  errorStart = -1
  errorEnd = -1
  /** There is a member beside the choices in which a provider reports usage and failures. */
  hasAside = false
  /** The inside of the member `obfuscation`, which hides the length of the text by its own. */
  paddingStart = -1
  paddingEnd = -1
  /** A member is an object, other than choices and their deltas. */
  hasObject = false
  /** There is a member `receipt`, which is the gateway's own. */
  hasReceipt = false
  /** The object and the time are known to be as the format has them, so that nobody has to look. */
  hasSoundHead = false
  /** At least one choice. */
  hasChoices = false
  /** A delta says that the assistant speaks. */
  hasRole = false
  /** A delta names another role. */
  hasOtherRole = false
  /** Of the choices, besides their output. */
  readonly choice = new ChoiceScan()
  /** Of the tool calls of the choices. */
  readonly call = new CallScan()
  /**
   * Bytes of text, reasoning or tool calls that the choices add. Text has its escapes included; of a tool call, its name
   * and its arguments count.
   */
  outputBytes = 0
  /** How many members of the choices the output is made of, and the inside of the last one that is a string. */
  outputs = 0
  textStart = -1
  textEnd = -1

  private bytes: Buffer = Buffer.alloc(0)
  private end = 0
  private at = 0

  /** A choice has a finish_reason. */
  get finished(): boolean {
    return this.choice.finished
  }

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
    this.objectStart = this.textStart = this.textEnd = this.paddingStart = -1
    this.usageIsNull = this.hasAside = this.hasObject = this.hasReceipt = this.hasChoices = false
    this.hasRole = this.hasOtherRole = this.hasSoundHead = false
    this.outputBytes = this.outputs = 0
    this.choice.reset()
    this.call.reset()
  }

  // Reads the members of an object up to its closing brace. `level` says which names matter there.
  private members(level: number): boolean {
    this.skipSpace()
    if (this.bytes[this.at] === CLOSE_BRACE) {
      this.at++
      return this.at <= this.end
    }
    while (this.at < this.end) {
      this.skipSpace()
      const nameStart = this.at
      if (this.take() !== QUOTE || !this.passString()) return false
      const nameEnd = this.at - 1
      this.skipSpace()
      if (this.take() !== COLON) return false
      this.skipSpace()
      if (!this.value(level, nameStart, nameEnd)) return false
      this.skipSpace()
      const separator = this.take()
      if (separator === CLOSE_BRACE) return true
      if (separator !== COMMA) return false
    }
    return false
  }

  private value(level: number, nameStart: number, nameEnd: number): boolean {
    const start = this.at
    if (level === TOP) {
      if (isName(this.bytes, nameStart, nameEnd, NAMES.choices)) return this.array(CHOICE)
      if (!this.passValue()) return false
      this.noteTop(nameStart, nameEnd, start)
      return true
    }
    if (level === CHOICE) {
      if (isName(this.bytes, nameStart, nameEnd, NAMES.delta) && this.bytes[start] === OPEN_BRACE) {
        this.choice.noteDelta()
        this.at++
        return this.members(DELTA)
      }
      if (!this.passValue()) return false
      this.choice.note(this.bytes, nameStart, nameEnd, start, this.at)
      if (!this.holdsSomething(start) || !isName(this.bytes, nameStart, nameEnd, NAMES.text)) return true
      this.noteOutput(start, true)
      this.choice.noteText(this.bytes[start] === QUOTE, start, this.at)
      return true
    }
    if (level > DELTA) return this.callMember(level, nameStart, nameEnd)
    const mayBeCalls = this.bytes[start] === OPEN_BRACKET
    if (mayBeCalls && isName(this.bytes, nameStart, nameEnd, NAMES.toolCalls)) return this.toolCalls()
    if (!this.passValue()) return false
    if (!this.holdsSomething(start)) {
      if (this.choice.noteNumber(this.bytes, nameStart, nameEnd, start)) this.outputs++
      return true
    }
    if (isName(this.bytes, nameStart, nameEnd, NAMES.role)) this.noteRole(start)
    else this.noteOutput(start, this.choice.noteOutput(this.bytes, nameStart, nameEnd, start, this.at))
    return true
  }

  private toolCalls(): boolean {
    const start = this.at
    if (!this.array(CALL)) return false
    if (this.holdsSomething(start)) this.outputs++
    return true
  }

  private callMember(level: number, nameStart: number, nameEnd: number): boolean {
    const start = this.at
    if (level === CALL && this.bytes[start] === OPEN_BRACE) {
      this.at++
      return this.members(FUNCTION)
    }
    if (!this.passValue()) return false
    this.outputBytes += this.call.note(this.bytes, level === FUNCTION, nameStart, nameEnd, start, this.at)
    return true
  }

  private noteRole(start: number): void {
    if (isName(this.bytes, start, this.at - 1, NAMES.assistant)) this.hasRole = true
    else this.hasOtherRole = true
  }

  /** @param counts its bytes are written by the model, and are not those of another member once more */
  private noteOutput(start: number, counts: boolean): void {
    this.outputs++
    if (counts) this.outputBytes += this.at - start - 2
    if (this.bytes[start] !== QUOTE) return
    this.textStart = start + 1
    this.textEnd = this.at - 1
  }

  private noteTop(nameStart: number, nameEnd: number, start: number): void {
    const { bytes, at } = this
    if (isName(bytes, nameStart, nameEnd, NAMES.id)) {
      this.idStart = start
      this.idEnd = at
    } else if (isName(bytes, nameStart, nameEnd, NAMES.model)) {
      this.modelStart = start
      this.modelEnd = at
    } else if (isName(bytes, nameStart, nameEnd, NAMES.usage)) {
      this.usageNameStart = nameStart
      this.usageStart = start
      this.usageEnd = at
      this.usageIsNull = bytes[start] === LETTER_N
    } else if (isName(bytes, nameStart, nameEnd, NAMES.created)) {
      this.createdStart = start
      this.createdEnd = at
    } else if (isName(bytes, nameStart, nameEnd, NAMES.error) && bytes[start] !== LETTER_N) {
      this.errorStart = start
      this.errorEnd = at
    } else if (
      isName(bytes, nameStart, nameEnd, NAMES.aside) ||
      isName(bytes, nameStart, nameEnd, NAMES.baseResponse)
    ) {
      this.hasAside = true
    } else if (isName(bytes, nameStart, nameEnd, NAMES.object)) {
      this.objectStart = start
      this.objectEnd = at
    } else if (isName(bytes, nameStart, nameEnd, NAMES.obfuscation) && bytes[start] === QUOTE) {
      this.paddingStart = start + 1
      this.paddingEnd = at - 1
    } else if (isSameName(bytes, nameStart, nameEnd, NAMES.receipt)) {
      this.hasReceipt = true
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
        if (!this.element(level)) return false
      } else {
        if (!this.passValue()) return false
        this.choice.isOdd = true
      }
      this.skipSpace()
      const separator = this.take()
      if (separator === CLOSE_BRACKET) return true
      if (separator !== COMMA) return false
    }
    return false
  }

  private element(level: number): boolean {
    if (level === CALL) this.call.begin()
    else this.choice.begin()
    if (!this.members(level)) return false
    if (level === CHOICE) this.choice.end()
    return true
  }

  // Neither null nor "", [] or {}: of those only strings, arrays and objects count as content.
  private holdsSomething(start: number): boolean {
    const first = this.bytes[start]
    return (first === QUOTE || first === OPEN_BRACKET || first === OPEN_BRACE) && this.at - start > 2
  }

  private take(): number {
    return this.at < this.end ? (this.bytes[this.at++] as number) : -1
  }

  private skipSpace(): void {
    let at = this.at
    while (at < this.end) {
      const c = this.bytes[at]
      if (c !== 32 && c !== 10 && c !== 13 && c !== 9) break
      at++
    }
    this.at = at
  }

  /** From after the opening quote to after the closing one. */
  private passString(): boolean {
    const at = soundStringEnd(this.bytes, this.at, this.end)
    if (at < 0) return false
    this.at = at
    return true
  }

  private passValue(): boolean {
    if (this.bytes[this.at] === OPEN_BRACE) this.hasObject = true
    const at = soundValueEnd(this.bytes, this.at, this.end)
    if (at < 0) return false
    this.at = at
    return true
  }
}

const TOP = 0
const CHOICE = 1
const DELTA = 2
const CALL = 3
const FUNCTION = 4
