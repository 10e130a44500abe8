import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

/** The time that a stretch without spaces takes grows with the square of its length, so that text is cut. */
const PIECE_CHARACTERS = 512
const SPACE = /\s/
// Text that looks like a control token of the encoding is text.
const AS_TEXT = { disallowedSpecial: new Set<string>() }

/**
 * Counts the tokens of each text by the encoding o200k_base, which comes close for models of other makers too. Cutting
 * adds at most one token per piece, and none where a piece ends at a space.
 */
export function run(texts: readonly string[]): number[] {
  return texts.map(count)
}

function count(text: string): number {
  let tokens = 0
  for (let from = 0; from < text.length; ) {
    const to = pieceEnd(text, from)
    tokens += countTokens(text.slice(from, to), AS_TEXT)
    from = to
  }
  return tokens
}

// A space belongs to the word after it, so a piece ends before one; else anywhere but within a character.
function pieceEnd(text: string, from: number): number {
  const end = from + PIECE_CHARACTERS
  if (end >= text.length) return text.length
  for (let at = end; at > from + PIECE_CHARACTERS / 2; at--) if (SPACE.test(text[at])) return at
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}
