import { PPM } from './admission.ts'

/** Words and numbers, and every other character by itself. */
const TOKEN = /[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu

/** An answer, and its reported usage. */
export interface ProbeAnswer {
  readonly text: string
  /** Tokens as reported; null where they were not. */
  readonly promptTokens: number | null
  readonly outputTokens: number | null
}

/**
 * The similarity of two answers: twice the number of their common tokens, divided by the tokens of both (Dice's coefficient over
 * multisets). Case does not count.
 * @returns 0 to 1,000,000
 */
export function similarityPpm(a: string, b: string): number {
  const [left, right] = [tokensOf(a), tokensOf(b)]
  if (left.length + right.length === 0) return PPM
  const counts = new Map<string, number>()
  for (const token of left) counts.set(token, (counts.get(token) ?? 0) + 1)
  let common = 0
  for (const token of right) {
    const count = counts.get(token) ?? 0
    if (count === 0) continue
    counts.set(token, count - 1)
    common++
  }
  return Math.floor((2 * common * PPM) / (left.length + right.length))
}

function tokensOf(text: string): string[] {
  return text.toLowerCase().match(TOKEN) ?? []
}

/** A chat template may take a few tokens more. */
const PROMPT_SLACK_TOKENS = 32
const SLACK_FACTOR = 2

/**
 * Whether an answer reports clearly more tokens than the same model does for the same prompt, or than its text can have.
 * Reasoning is not part of the text, so its output is compared only with the reference's.
 */
export function isOverReported(answer: ProbeAnswer, reference: ProbeAnswer): boolean {
  const { promptTokens, outputTokens, text } = answer
  const promptMax = SLACK_FACTOR * (reference.promptTokens ?? Number.POSITIVE_INFINITY) + PROMPT_SLACK_TOKENS
  const likeReference = SLACK_FACTOR * (reference.outputTokens ?? 0)
  const outputMax = Math.max(Buffer.byteLength(text), likeReference) + PROMPT_SLACK_TOKENS
  return (promptTokens ?? 0) > promptMax || (outputTokens ?? 0) > outputMax
}
