const PIECE_CHARACTERS = 16_384
const SPACE = /\s/
/** Steps through the pieces so that any first part of them is spread over the text. */
const GOLDEN = 0.618

/** A text, or a sample of one that is too long, cut for its tokens to be counted. */
export interface TextSample {
  /** Of the whole text, in UTF-16 code units. */
  readonly characters: number
  /** In no order: those at the front are spread over the text, for a count that has to stop early. */
  readonly pieces: readonly string[]
}

/**
 * Takes a text, or pieces spread evenly over it when it is longer than may be counted.
 * @param charactersMax how much to take, in UTF-16 code units
 */
export function sampleText(text: string, charactersMax: number): TextSample {
  const pieces: string[] = []
  const count = Math.max(1, Math.ceil(Math.min(text.length, charactersMax) / PIECE_CHARACTERS))
  const isWhole = text.length <= charactersMax
  let from = 0
  for (let i = 0; i < count; i++) {
    if (!isWhole) from = wholeCharacter(text, Math.floor((i * text.length) / count))
    const to = isWhole && i === count - 1 ? text.length : pieceEnd(text, from, PIECE_CHARACTERS)
    pieces.push(text.slice(from, to))
    from = to
  }
  return { characters: text.length, pieces: spread(pieces) }
}

/**
 * Where a piece of at most this length ends: before a space, which belongs to the word after it, when there is one in its
 * second half; else anywhere but within a character.
 */
export function pieceEnd(text: string, from: number, lengthMax: number): number {
  const end = from + lengthMax
  if (end >= text.length) return text.length
  for (let at = end; at > from + lengthMax / 2; at--) if (SPACE.test(text.charAt(at))) return at
  return wholeCharacter(text, end)
}

/** The place itself, or the one before it when it is within a character. */
function wholeCharacter(text: string, at: number): number {
  const last = at === 0 ? 0 : text.charCodeAt(at - 1)
  return last >= 0xd800 && last <= 0xdbff ? at - 1 : at
}

function spread(pieces: readonly string[]): string[] {
  const { length } = pieces
  let step = Math.max(1, Math.floor(length * GOLDEN))
  while (greatestDivisor(step, length) > 1) step++
  return pieces.map((_, i) => pieces[(i * step) % length] ?? '')
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}
