import { isAnyName, isName } from '../../json/jsonScan.ts'
import { jsonTextBytes } from '../../json/jsonText.ts'
import { CALL_OUTPUT, NAMES, ODD_ARGUMENTS } from './chunkNames.ts'

const QUOTE = 34
const OPEN_BRACKET = 91
const LETTER_N = 110
const OPEN_BRACE = 123
const ZERO = 48
const NINE = 57
/** `"function"`. */
const FUNCTION_TYPE_BYTES = 10

/** The tool calls of a chunk, as a scan finds them: how many there are, and the members of the last one. */
export class CallScan {
  count = 0
  /** -1 for one that is no small number. */
  index = -1
  /** Of the texts with their quotes; a start of -1 means absent or empty. */
  idStart = -1
  idEnd = -1
  nameStart = -1
  nameEnd = -1
  isFunction = false
  argumentsBytes = 0
  argumentsStart = -1
  argumentsEnd = -1
  /** The arguments of a call are no text, or under another name. */
  isOdd = false

  reset(): void {
    this.count = 0
    this.isOdd = false
  }

  begin(): void {
    this.count++
    this.index = this.idStart = this.nameStart = -1
    this.isFunction = false
    this.argumentsBytes = 0
  }

  /**
   * Takes a member of a call, or of its function.
   * @param nameStart of the member's name with its quotes, which end at nameEnd
   * @param start of its value, which ends before `end`
   * @returns the bytes of output in it
   */
  note(bytes: Buffer, isInner: boolean, nameStart: number, nameEnd: number, start: number, end: number): number {
    this.noteMember(bytes, isInner, nameStart, nameEnd, start, end)
    const isOutput = end - start > 2 && isAnyName(bytes, nameStart, nameEnd, CALL_OUTPUT)
    if (!isOutput) return 0
    if (bytes[start] === QUOTE) return jsonTextBytes(bytes, start + 1, end - 1)
    return bytes[start] === OPEN_BRACE || bytes[start] === OPEN_BRACKET ? end - start : 0
  }

  private noteMember(
    bytes: Buffer,
    isInner: boolean,
    nameStart: number,
    nameEnd: number,
    start: number,
    end: number,
  ): void {
    const isText = bytes[start] === QUOTE
    if (isInner) {
      if (isName(bytes, nameStart, nameEnd, NAMES.arguments)) {
        if (isText) {
          this.argumentsBytes = end - start - 2
          this.argumentsStart = start
          this.argumentsEnd = end
        } else if (bytes[start] !== LETTER_N) this.isOdd = true
      } else if (isName(bytes, nameStart, nameEnd, NAMES.name) && isText && end - start > 2) {
        this.nameStart = start
        this.nameEnd = end
      } else if (isAnyName(bytes, nameStart, nameEnd, ODD_ARGUMENTS)) {
        this.isOdd = true
      }
    } else if (isName(bytes, nameStart, nameEnd, NAMES.index)) {
      this.index = smallNumber(bytes, start, end)
    } else if (isName(bytes, nameStart, nameEnd, NAMES.id)) {
      if (!isText || end - start === 2) return
      this.idStart = start
      this.idEnd = end
    } else if (isName(bytes, nameStart, nameEnd, NAMES.type)) {
      this.isFunction = isText && end - start === FUNCTION_TYPE_BYTES
    }
  }
}

/** A number of up to three digits; -1 for any other value. */
function smallNumber(bytes: Buffer, start: number, end: number): number {
  if (end - start > 3) return -1
  let number = 0
  for (let at = start; at < end; at++) {
    const digit = bytes[at] as number
    if (digit < ZERO || digit > NINE) return -1
    number = number * 10 + digit - ZERO
  }
  return number
}
