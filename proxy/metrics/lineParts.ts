import type { TokenUsage } from '../../contract/money/charge.ts'

const MS_PER_SECOND = 1_000
const MS_DIGITS = 3
/** Of a time in ISO 8601 up to the point of its second. */
const SECOND_LENGTH = 20

/**
 * Parts of the lines of the access log as JSON. Most lines have the second and the names of the one before; to print them anew takes
 * half of the time of a line.
 */
export class LineParts {
  private readonly namesMax: number
  private readonly names = new Map<string | null, string>()
  private second = Number.NaN
  private secondText = ''

  /** @param namesMax names that are kept */
  constructor(namesMax: number) {
    this.namesMax = namesMax
  }

  /** A time in ISO 8601, without quotation marks. @param atMs milliseconds since 1970 */
  time(atMs: number): string {
    const second = Math.floor(atMs / MS_PER_SECOND)
    if (second !== this.second) {
      this.second = second
      this.secondText = new Date(second * MS_PER_SECOND).toISOString().slice(0, SECOND_LENGTH)
    }
    return `${this.secondText}${String(Math.floor(atMs) - second * MS_PER_SECOND).padStart(MS_DIGITS, '0')}Z`
  }

  /** The name of a model, a provider, a key or an error. */
  name(name: string | null): string {
    const known = this.names.get(name)
    if (known !== undefined) return known
    const text = JSON.stringify(name)
    if (this.names.size >= this.namesMax) this.names.clear()
    this.names.set(name, text)
    return text
  }
}

/** Tokens, member by member: JSON.stringify takes eight times as long. */
export function usageText({ input, cachedInput, cacheWrite5m, cacheWrite1h, output, reasoning }: TokenUsage): string {
  const written = `"cacheWrite5m":${cacheWrite5m},"cacheWrite1h":${cacheWrite1h}`
  return `{"input":${input},"cachedInput":${cachedInput},${written},"output":${output},"reasoning":${reasoning}}`
}
