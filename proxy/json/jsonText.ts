const BACKSLASH = 92
const LETTER_U = 117
const UNICODE_ESCAPE_BYTES = 6
/** Of a character that is written as \u and four hex digits; most are Latin, Greek or Cyrillic ones. */
const UNICODE_BYTES = 2

/** The approximate UTF-8 bytes of the text that the inside of a JSON string, [start, end), encodes. */
export function jsonTextBytes(bytes: Buffer, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; ) {
    if (bytes[at] !== BACKSLASH) {
      count++
      at++
    } else if (bytes[at + 1] === LETTER_U) {
      count += UNICODE_BYTES
      at += UNICODE_ESCAPE_BYTES
    } else {
      count++
      at += 2
    }
  }
  return count
}
