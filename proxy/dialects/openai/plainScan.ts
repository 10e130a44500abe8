import { isAnyName, JsonScan } from '../../json/jsonScan.ts'
import { NAMES, TEXT_REASONS } from './chunkNames.ts'
import { isWholeNumber } from './rewrite.ts'

const QUOTE = 34
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const ZERO = 48
const NINE = 57
const LETTER_N = 110

const TOP = 0
const CHOICE = 1
const MESSAGE = 2

const HAS_CHOICES = 1
const HAS_USAGE = 2
const HAS_MESSAGE = 4
const HAS_ROLE = 8
const HAS_CONTENT = 16
const HAS_INDEX = 32
const HAS_REASON = 64
const HAS_CREATED = 128
const HAS_ALL = 255

/** The members that the gateway sets itself. */
const OWN = [NAMES.id, NAMES.object, NAMES.model, NAMES.receipt]
/** Members of a choice, besides its message, that hold output or report a failure. */
const ODD_IN_CHOICE = [NAMES.text, NAMES.delta, NAMES.error]

/**
 * Finds the members of a plain chat completion in one pass, so that no object is made of it. A plain one has one choice with
 * a text, a known reason why it ended and no other output, a time and a usage. Any answer that a reader of the format would have to
 * repair is not plain, nor is one that has an escape in a name, or a usage or choices twice.
 */
export class PlainScan extends JsonScan {
  usageStart = 0
  usageEnd = 0
  /** The text of the message, with its quotes. */
  contentStart = 0
  contentEnd = 0
  /** Where stretches of members begin and end that clients get as they came, in turn. */
  kept: number[] = []
  /** There is a backslash anywhere. */
  hasEscapes = false
  private has = 0
  /** The end of the last member of the stretch that is open; -1 when none is. */
  private keptEnd = -1

  /** @returns whether the bytes are one JSON object, and plain */
  scan(bytes: Buffer): boolean {
    this.bytes = bytes
    this.end = bytes.length
    this.at = this.has = 0
    this.keptEnd = -1
    this.kept = []
    this.hasEscapes = bytes.includes(BACKSLASH)
    this.skipSpace()
    if (this.take() !== OPEN_BRACE || !this.members(TOP)) return false
    this.closeStretch()
    this.skipSpace()
    return this.at === this.end && this.has === HAS_ALL
  }

  protected value(level: number, nameStart: number, nameEnd: number): boolean {
    if (this.hasEscapes && this.isEscaped(nameStart, nameEnd)) return false
    if (level === TOP) return this.topMember(nameStart, nameEnd)
    return level === CHOICE ? this.choiceMember(nameStart, nameEnd) : this.messageMember(nameStart, nameEnd)
  }

  private isEscaped(nameStart: number, nameEnd: number): boolean {
    for (let at = nameStart; at < nameEnd; at++) if (this.bytes[at] === BACKSLASH) return true
    return false
  }

  private topMember(nameStart: number, nameEnd: number): boolean {
    const start = this.at
    if (this.isName(nameStart, nameEnd, NAMES.usage)) {
      if (!this.first(HAS_USAGE) || this.bytes[start] !== OPEN_BRACE || !this.passValue()) return false
      this.usageStart = start
      this.usageEnd = this.at
      return this.closeStretch()
    }
    if (isAnyName(this.bytes, nameStart, nameEnd, OWN)) return this.passValue() && this.closeStretch()
    if (this.isName(nameStart, nameEnd, NAMES.choices)) {
      if (!this.first(HAS_CHOICES) || !this.onlyChoice()) return false
    } else if (this.isName(nameStart, nameEnd, NAMES.created)) {
      if (!this.first(HAS_CREATED) || !this.passValue() || !isWholeNumber(this.bytes, start, this.at)) return false
    } else if (this.isName(nameStart, nameEnd, NAMES.error)) {
      if (!this.passNull()) return false
    } else if (!this.passValue()) return false
    if (this.keptEnd < 0) this.kept.push(nameStart)
    this.keptEnd = this.at
    return true
  }

  private closeStretch(): true {
    if (this.keptEnd >= 0) this.kept.push(this.keptEnd)
    this.keptEnd = -1
    return true
  }

  private onlyChoice(): boolean {
    if (this.take() !== OPEN_BRACKET) return false
    this.skipSpace()
    if (this.take() !== OPEN_BRACE || !this.members(CHOICE)) return false
    this.skipSpace()
    return this.take() === CLOSE_BRACKET
  }

  private choiceMember(nameStart: number, nameEnd: number): boolean {
    const start = this.at
    const c = this.bytes[start] as number
    if (this.isName(nameStart, nameEnd, NAMES.message)) {
      this.at++
      return this.first(HAS_MESSAGE) && c === OPEN_BRACE && this.members(MESSAGE)
    }
    if (isAnyName(this.bytes, nameStart, nameEnd, ODD_IN_CHOICE)) return this.passNull()
    if (!this.passValue()) return false
    if (this.isName(nameStart, nameEnd, NAMES.index)) return c >= ZERO && c <= NINE && this.first(HAS_INDEX)
    if (!this.isName(nameStart, nameEnd, NAMES.finishReason)) return true
    return c === QUOTE && isAnyName(this.bytes, start, this.at - 1, TEXT_REASONS) && this.first(HAS_REASON)
  }

  private messageMember(nameStart: number, nameEnd: number): boolean {
    const start = this.at
    const c = this.bytes[start] as number
    if (!this.passValue()) return false
    if (this.isName(nameStart, nameEnd, NAMES.role)) return c === QUOTE && this.first(HAS_ROLE)
    if (this.isName(nameStart, nameEnd, NAMES.content)) {
      this.contentStart = start
      this.contentEnd = this.at
      return c === QUOTE && this.at - start > 2 && this.first(HAS_CONTENT)
    }
    if (this.isName(nameStart, nameEnd, NAMES.annotations) || c === LETTER_N) return true
    return this.at - start === 2 && (c === QUOTE || c === OPEN_BRACKET)
  }

  /** Notes a member. @returns false when there was one of its kind already */
  private first(flag: number): boolean {
    const isFirst = (this.has & flag) === 0
    this.has |= flag
    return isFirst
  }

  private passNull(): boolean {
    return this.bytes[this.at] === LETTER_N && this.passValue()
  }
}
