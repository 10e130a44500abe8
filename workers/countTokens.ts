import '../contract/std/mendedJson.ts'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { pieceEnd, type TextSample } from './textSample.ts'

/** The time that a stretch without spaces takes grows with the square of its length, so that text is cut. */
const PIECE_CHARACTERS = 512
// Text that looks like a control token of the encoding is text.
const AS_TEXT = { disallowedSpecial: new Set<string>() }

export interface CountInput {
  readonly texts: readonly TextSample[]
  /** The most time that a thread may count, from its start. */
  readonly workMs: number
  /** The deadline after which the answer is not needed any more, as of Date.now. */
  readonly endsAtMs: number
}

/**
 * Counts the tokens of each text by the encoding o200k_base, which comes close for models of other makers too. Cutting
 * adds at most one token per piece, and none where a piece ends at a space. Text outside of a sample, or not counted when
 * time runs out, is estimated at the tokens per character of the counted text.
 * @returns null when it began after the deadline
 */
export function run({ texts, workMs, endsAtMs }: CountInput): number[] | null {
  const startMs = performance.now()
  const leftMs = Math.min(workMs, endsAtMs - Date.now())
  if (leftMs <= 0) return null
  // Each text gets a share of the time, plus the unused time of the texts before it.
  return texts.map((text, i) => count(text, startMs + (leftMs * (i + 1)) / texts.length))
}

function count({ pieces, characters }: TextSample, deadlineMs: number): number {
  let tokens = 0
  let counted = 0
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const to = pieceEnd(piece, from, PIECE_CHARACTERS)
      tokens += countTokens(piece.slice(from, to), AS_TEXT)
      counted += to - from
      from = to
      if (performance.now() >= deadlineMs) return extrapolate(tokens, counted, characters)
    }
  }
  return extrapolate(tokens, counted, characters)
}

function extrapolate(tokens: number, counted: number, characters: number): number {
  return counted === characters ? tokens : Math.ceil((tokens * characters) / counted)
}
