import { givenReason } from '../../../contract/api/finishReason.ts'
import { isAnyName, isName } from '../../json/jsonScan.ts'
import { parseBytes } from '../../sse/sseText.ts'
import { NAMES, NO_REASON_NAMES, ODD_NAMES, TEXT_REASONS } from './chunkNames.ts'

const QUOTE = 34
const OPEN_BRACE = 123
const LETTER_N = 110
const MINUS = 45
const ZERO = 48
const NINE = 57
const SAID_NAMES = [NAMES.content, NAMES.reasoningContent, NAMES.reasoning]
const HAS_DELTA = 1
const HAS_INDEX = 2
const HAS_REASONING = 4
const HAS_DETAILS = 8

/** The choices of a chunk, as a scan finds them, without their output. */
export class ChoiceScan {
  /** A choice has a finish_reason, and where the last of them is, with its quotes. */
  finished = false
  finishStart = -1
  finishEnd = -1
  /** A choice of a chat is not written as the format's documentation has it, so that it has to be read. */
  isOdd = false
  /** Members with the text of a message, and the inside of the last one that is a string; -1 for none. */
  texts = 0
  textStart = -1
  textEnd = -1
  /** Members with reasoning, and the inside of the last one that is a string; -1 for none. */
  thoughts = 0
  thoughtStart = -1
  thoughtEnd = -1
  /** The members of the choice that is read. */
  private has = 0

  reset(): void {
    this.finished = this.isOdd = false
    this.texts = this.thoughts = 0
    this.textStart = this.thoughtStart = -1
  }

  /** Whether there is a reason, and it is a failure. */
  hasFailed(bytes: Buffer): boolean {
    return this.finished && givenReason(parseBytes(bytes, this.finishStart, this.finishEnd)) === 'error'
  }

  /** Whether there is no reason, or one of those that a text has. */
  hasTextReason(bytes: Buffer): boolean {
    return !this.finished || isAnyName(bytes, this.finishStart, this.finishEnd - 1, TEXT_REASONS)
  }

  begin(): void {
    this.has = 0
  }

  /** The choice has an object as its delta. */
  noteDelta(): void {
    this.has |= HAS_DELTA
  }

  end(): void {
    const { has } = this
    if ((has & HAS_DELTA) === 0 || (has & HAS_INDEX) === 0) this.isOdd = true
    // Details next to the reasoning itself repeat it.
    if ((has & HAS_DETAILS) !== 0 && (has & HAS_REASONING) === 0) this.isOdd = true
  }

  /** The choice that was read last has an object as its delta. */
  get hasDelta(): boolean {
    return (this.has & HAS_DELTA) !== 0
  }

  /** Takes the text of a choice or a delta. @param start of its value, which ends before `end` */
  noteText(isText: boolean, start: number, end: number): void {
    this.texts++
    if (!isText) return
    this.textStart = start + 1
    this.textEnd = end - 1
  }

  /**
   * Takes a member of a delta that has output: clients of chat completions know three, and read them as texts.
   * @param start of its value, which ends before `end`
   * @returns whether the model has written it, and no other member of the choice repeats it: images and sources are not
   *   counted by their bytes
   */
  noteOutput(bytes: Buffer, nameStart: number, nameEnd: number, start: number, end: number): boolean {
    const isText = bytes[start] === QUOTE
    if (isName(bytes, nameStart, nameEnd, NAMES.content)) {
      this.noteText(isText, start, end)
      if (!isText) this.isOdd = true
      return true
    }
    const isFirstThought = (this.has & (HAS_REASONING | HAS_DETAILS)) === 0
    if (
      isName(bytes, nameStart, nameEnd, NAMES.reasoningContent) ||
      isName(bytes, nameStart, nameEnd, NAMES.reasoning)
    ) {
      this.has |= HAS_REASONING
      this.thoughts++
      if (isText) {
        this.thoughtStart = start + 1
        this.thoughtEnd = end - 1
      } else this.isOdd = true
      return isFirstThought
    }
    if (isName(bytes, nameStart, nameEnd, NAMES.reasoningDetails)) {
      this.has |= HAS_DETAILS
      this.thoughts++
      return isFirstThought
    }
    if (isName(bytes, nameStart, nameEnd, NAMES.refusal)) return true
    if (!isAnyName(bytes, nameStart, nameEnd, ODD_NAMES)) return false
    this.isOdd = true
    return true
  }

  /**
   * Takes a member of a delta whose value is neither a text nor a list nor an object.
   * @returns whether it is a text that the provider has parsed as a number; clients want it as one
   */
  noteNumber(bytes: Buffer, nameStart: number, nameEnd: number, start: number): boolean {
    const first = bytes[start] as number
    if ((first < ZERO || first > NINE) && first !== MINUS) return false
    if (!isAnyName(bytes, nameStart, nameEnd, SAID_NAMES)) return false
    this.isOdd = true
    return true
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
      if (first !== QUOTE || end - start === 2 || isAnyName(bytes, start, end - 1, NO_REASON_NAMES)) {
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
    } else if (first !== LETTER_N && isName(bytes, nameStart, nameEnd, NAMES.error)) {
      this.isOdd = true
    }
  }
}
