import type { Span } from '../../contract/std/span.ts'
import type { AnswerBounds } from './jsonObject.ts'

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_ARRAY = 91
const BACKSLASH = 92
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** No name of a member that is cut out is longer. */
const NAME_BYTES_MAX = 16

/**
 * The members whose arrays and objects are kept as bytes, since they are large in honest answers and nothing of them is read:
 * by how many arrays and objects are open around them, their names.
 */
export type CutMembers = ReadonlyMap<number, ReadonlySet<string>>

/** The bounds of JSON; only depth counts within values that are cut out. */
export interface ScanBounds {
  readonly depthMax: number
  readonly membersMax: number
  readonly elementsMax: number
  /** Bytes without the values that are cut out. */
  readonly bytesMax: number
  readonly cut: CutMembers
}

/** The bounds of an answer that is parsed on the event loop, except for the parts that are cut out of it. */
export function scanBounds(limits: AnswerBounds, cut: CutMembers): ScanBounds {
  const { jsonDepthMax: depthMax, answerMembersMax: membersMax, answerElementsMax: elementsMax } = limits
  return { depthMax, membersMax, elementsMax, bytesMax: limits.answerParsedBytesMax, cut }
}

/**
 * Counts the JSON of an answer while it arrives, so that no piece of it takes long: what is parsed at its end is bounded,
 * and where the values are that are cut out is known. Invalid JSON is left to the parser.
 */
export class AnswerScan {
  /** The values to cut out, in their order. */
  readonly cuts: Span[] = []
  private readonly bounds: ScanBounds
  /** Of each array or object that is open, whether it is an array. */
  private readonly arrays: boolean[] = []
  private seenBytes = 0
  private cutBytes = 0
  private members = 0
  private elements = 0
  private empty = false
  private inString = false
  private escaped = false
  /** The names that the string that is read, or was read last, may be among; undefined for a string that is none. */
  private names: ReadonlySet<string> | undefined
  private name = ''
  /** The next value is one to cut out. */
  private awaitsCut = false
  private cutStart = -1
  private cutDepth = 0

  constructor(bounds: ScanBounds) {
    this.bounds = bounds
  }

  /**
   * Reads the next bytes.
   * @returns false when the answer exceeds the bounds, or closes what is not open; the scan is of no use after that
   */
  push(bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length; at++) {
      if (this.inString) {
        at = this.passString(bytes, at)
        continue
      }
      const c = bytes[at] as number
      if (c > 32 && !this.pass(c, this.seenBytes + at)) return false
    }
    this.seenBytes += bytes.length
    const cutBytes = this.cutBytes + (this.cutStart < 0 ? 0 : this.seenBytes - this.cutStart)
    return this.seenBytes - cutBytes <= this.bounds.bytesMax
  }

  /** Passes a byte that is not in a string. */
  private pass(c: number, place: number): boolean {
    const { arrays } = this
    const closes = c === CLOSE_ARRAY || c === CLOSE_OBJECT
    if ((c === COMMA || (this.empty && !closes)) && this.cutStart < 0 && !this.count()) return false
    this.empty = c === OPEN_ARRAY || c === OPEN_OBJECT
    const { awaitsCut } = this
    this.awaitsCut = c === COLON && this.names?.has(this.name) === true
    if (this.empty) {
      if (awaitsCut) this.beginCut(place)
      return arrays.push(c === OPEN_ARRAY) <= this.bounds.depthMax
    }
    if (closes) return this.close(c === CLOSE_ARRAY, place)
    if (c === QUOTE) this.beginString()
    return true
  }

  private count(): boolean {
    if (this.arrays.at(-1) === true) this.elements++
    else this.members++
    return this.members <= this.bounds.membersMax && this.elements <= this.bounds.elementsMax
  }

  private beginCut(place: number): void {
    this.cutStart = place
    this.cutDepth = this.arrays.length
  }

  private close(isArray: boolean, place: number): boolean {
    if (this.arrays.pop() !== isArray) return false
    if (this.cutStart >= 0 && this.arrays.length === this.cutDepth) {
      this.cuts.push({ start: this.cutStart, end: place + 1 })
      this.cutBytes += place + 1 - this.cutStart
      this.cutStart = -1
    }
    return true
  }

  private beginString(): void {
    this.inString = true
    this.name = ''
    const { arrays, bounds } = this
    this.names = this.cutStart < 0 && arrays.at(-1) === false ? bounds.cut.get(arrays.length) : undefined
  }

  /** @returns the place of the closing quote, or of the last byte */
  private passString(bytes: Buffer, from: number): number {
    let at = from
    if (this.escaped) {
      this.escaped = false
      at++
    }
    for (;;) {
      const quote = bytes.indexOf(QUOTE, at)
      const end = quote < 0 ? bytes.length : quote
      if (this.names !== undefined) this.readName(bytes, at, end)
      let slashes = 0
      while (end - slashes > at && bytes[end - 1 - slashes] === BACKSLASH) slashes++
      if (quote < 0) {
        this.escaped = slashes % 2 === 1
        return bytes.length - 1
      }
      if (slashes % 2 === 0) {
        this.inString = false
        return quote
      }
      this.names = undefined
      at = quote + 1
    }
  }

  private readName(bytes: Buffer, from: number, end: number): void {
    if (this.name.length + end - from > NAME_BYTES_MAX) this.names = undefined
    else this.name += bytes.toString('latin1', from, end)
  }
}
