import { isName, NAMES } from './chunkNames.ts'

const QUOTE = 34
const OPEN_BRACE = 123
const LETTER_N = 110
const ZERO = 48
const NINE = 57
const HAS_DELTA = 1
const HAS_INDEX = 2

/** What a scan finds of the choices of a chunk, besides their output. */
export class ChoiceScan {
  /** A choice has a finish_reason, and where the last of them is, with its quotes. */
  finished = false
  finishStart = -1
  finishEnd = -1
  /** A choice of a chat is not written as the format's documentation has it, so that it has to be read. */
  isOdd = false
  /** The members of the choice that is read. */
  private has = 0

  reset(): void {
    this.finished = this.isOdd = false
  }

  begin(): void {
    this.has = 0
  }

  /** The choice has an object as its delta. */
  noteDelta(): void {
    this.has |= HAS_DELTA
  }

  end(): void {
    if (this.has !== HAS_DELTA + HAS_INDEX) this.isOdd = true
  }

  /**
   * Takes a member of a choice.
   * @param nameStart of the member's name with its quotes, which end at nameEnd
   * @param start of its value, which ends before `end`
   */
  note(bytes: Buffer, nameStart: number, nameEnd: number, start: number, end: number): void {
    const first = bytes[start] as number
    if (isName(bytes, nameStart, nameEnd, NAMES.finishReason)) {
      if (first === LETTER_N) return
      if (first !== QUOTE || end - start === 2) {
        this.isOdd = true
        return
      }
      this.finished = true
      this.finishStart = start
      this.finishEnd = end
    } else if (isName(bytes, nameStart, nameEnd, NAMES.index)) {
      if (first >= ZERO && first <= NINE) this.has |= HAS_INDEX
    } else if (first === OPEN_BRACE && isName(bytes, nameStart, nameEnd, NAMES.message)) {
      this.isOdd = true
    }
  }
}
