import { MAX_UNITS } from './units.ts'

/** Tokens of compute locks are counted in micro-tokens: one whole token is one million tokens of its model. */
export const MICROS_PER_TOKEN = 1_000_000

const DECIMAL = /^(0|[1-9][0-9]{0,9})(?:\.([0-9]{1,6}))?$/
const PLACES = 6

/** Micro-tokens of a decimal string such as "2.5", exact; undefined when the text is not a valid amount of tokens. */
export function parseTokens(text: string): number | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const micros = Number(match[1]) * MICROS_PER_TOKEN + Number((match[2] ?? '').padEnd(PLACES, '0'))
  return micros <= MAX_UNITS ? micros : undefined
}

/** Micro-tokens as a decimal string of whole tokens with six digits. @param micros a safe integer, not negative */
export function formatTokens(micros: number): string {
  const fraction = micros % MICROS_PER_TOKEN
  return `${(micros - fraction) / MICROS_PER_TOKEN}.${String(fraction).padStart(PLACES, '0')}`
}
