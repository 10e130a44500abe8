const SPACE = /[ \t\r\n]*/y
const STRING = /"(?:[^"\\]|\\.)*"/sy
const WORD = /[^\s,\]}]+/y

/**
 * Reads JSON that may be cut off anywhere: the value up to the cut, with the members and elements that are whole or have
 * a whole beginning. A string or number at the cut is left out.
 * @param depthMax what is nested deeper ends the reading
 * @returns undefined for what is no JSON from its beginning
 */
export function readJsonPrefix(text: string, depthMax: number): unknown {
  return new PrefixReader(text).value(depthMax)
}

class PrefixReader {
  private readonly text: string
  private at = 0
  /** The text has ended, or is no JSON any more. */
  private over = false

  constructor(text: string) {
    this.text = text
  }

  value(depth: number): unknown {
    this.skip()
    const first = this.text[this.at]
    if (depth === 0 || first === undefined) return this.stop()
    if (first === '{') return this.object(depth)
    if (first === '[') return this.array(depth)
    const scalar = this.match(first === '"' ? STRING : WORD)
    // A number that the text ends with may have lost digits.
    if (scalar === undefined || (first !== '"' && this.at === this.text.length)) return this.stop()
    try {
      return JSON.parse(scalar) as unknown
    } catch {
      return this.stop()
    }
  }

  private object(depth: number): Record<string, unknown> {
    const members = new Map<string, unknown>()
    this.at++
    while (!this.over && !this.closes('}')) {
      const name = this.match(STRING)
      this.skip()
      if (name === undefined || this.text[this.at++] !== ':') this.stop()
      else this.add(this.value(depth - 1), (value) => members.set(name.slice(1, -1), value))
    }
    return Object.fromEntries(members)
  }

  private array(depth: number): unknown[] {
    const elements: unknown[] = []
    this.at++
    while (!this.over && !this.closes(']')) this.add(this.value(depth - 1), (value) => elements.push(value))
    return elements
  }

  private add(value: unknown, keep: (value: unknown) => void): void {
    if (value !== undefined) keep(value)
    this.skip()
    if (this.text[this.at] === ',') this.at++
  }

  private closes(bracket: string): boolean {
    this.skip()
    if (this.text[this.at] === undefined) this.stop()
    if (this.text[this.at] !== bracket) return false
    this.at++
    return true
  }

  private skip(): void {
    this.match(SPACE)
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    if (found !== undefined) this.at += found.length
    return found
  }

  private stop(): undefined {
    this.over = true
    return undefined
  }
}
