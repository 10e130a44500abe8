const QUOTE = 34
const BACKSLASH = 92

/**
 * Whether brackets nest deeper than `max` in JSON bytes. Parsing copes with any depth, but printing recurses and would
 * run out of stack.
 */
export function nestsDeeper(bytes: Buffer, max: number): boolean {
  let depth = 0
  for (let at = 0; at < bytes.length; at++) {
    const c = bytes[at]
    if (c === QUOTE) {
      at = stringEnd(bytes, at + 1)
      if (at < 0) return false
    } else if (c === 91 || c === 123) {
      depth++
      if (depth > max) return true
    } else if (c === 93 || c === 125) {
      depth--
    }
  }
  return false
}

/**
 * Where a JSON string ends.
 * @param from the first byte behind its opening quote
 * @returns the place of its closing quote, or -1
 */
export function stringEnd(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(QUOTE, from); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let backslashes = 0
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return -1
}
