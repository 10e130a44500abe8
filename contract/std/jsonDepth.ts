import type { Span } from './span.ts'

const SPACE = 32
const QUOTE = 34
const BACKSLASH = 92
/** Up to here, counting brackets is cheaper than to look for the ends of strings. */
const SMALL_BYTES = 2_048
/** A string of at least this many bytes is a long one. */
export const LONG_STRING_BYTES = 2_048
const COLON = 58
/** Bytes that are read after an escaped quote before the next one is searched. */
const NEAR_BYTES = 1_024

/**
 * Whether brackets nest deeper than `max` in JSON bytes. Parsing copes with any depth, but printing recurses and would
 * run out of stack.
 * @param longStrings gets the insides of long strings that are values, in their order
 */
export function nestsDeeper(bytes: Buffer, max: number, longStrings?: Span[]): boolean {
  // Each bracket takes a second one that closes it.
  if (bytes.length <= 2 * max) return false
  return (bytes.length > SMALL_BYTES || openers(bytes) > max) && walkDeeper(bytes, max, longStrings)
}

/**
 * The insides of the long strings in JSON bytes that are values, in their order.
 * @param depthMax how deep brackets may nest
 * @param otherBytesMax bytes of everything else, after which the search ends
 * @returns null where one of these is exceeded
 */
export function longStringsIn(bytes: Buffer, depthMax: number, otherBytesMax: number): Span[] | null {
  const found: Span[] = []
  return walkDeeper(bytes, depthMax, found, otherBytesMax) ? null : found
}

// A function of its own, so that the look at a small body is inlined where it is called.
function walkDeeper(
  bytes: Buffer,
  max: number,
  longStrings: Span[] | undefined,
  otherBytesMax = Number.POSITIVE_INFINITY,
): boolean {
  let depth = 0
  let end = Math.min(bytes.length, otherBytesMax)
  for (let at = 0; at < end; at++) {
    const c = bytes[at]
    if (c === QUOTE) {
      const start = at + 1
      at = stringEnd(bytes, start)
      if (at < 0) return false
      if (at - start >= LONG_STRING_BYTES && !isName(bytes, at)) {
        longStrings?.push({ start, end: at })
        end = Math.min(bytes.length, end + at - start)
      }
    } else if (c === 91 || c === 123) {
      depth++
      if (depth > max) return true
    } else if (c === 93 || c === 125) {
      depth--
    }
  }
  return end < bytes.length
}

/** Whether the string whose closing quote is at `quote` is the name of a member. */
function isName(bytes: Buffer, quote: number): boolean {
  let at = quote + 1
  while ((bytes[at] as number) <= SPACE) at++
  return bytes[at] === COLON
}

/** Opening brackets, those in strings as well. */
function openers(bytes: Buffer): number {
  let count = 0
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 123 || bytes[at] === 91) count++
  return count
}

/**
 * The end of a JSON string.
 * @param from the first byte after its opening quote
 * @returns the index of its closing quote, or -1
 */
export function stringEnd(bytes: Buffer, from: number): number {
  for (let at = from; ; ) {
    const quote = bytes.indexOf(QUOTE, at)
    if (quote < 0) return -1
    let backslashes = 0
    while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote
    // A search costs as much as reading many bytes, and where one quote is escaped there are more.
    const stop = Math.min(bytes.length, quote + 1 + NEAR_BYTES)
    for (at = quote + 1; at < stop; at += bytes[at] === BACKSLASH ? 2 : 1) if (bytes[at] === QUOTE) return at
  }
}
