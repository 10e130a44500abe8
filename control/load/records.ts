const QUOTE = '"'

/**
 * Splits CSV (RFC 4180), or JSON lines, that come in pieces into their records: the cells of a line of CSV, or the one text
 * of a line of JSON. Quoted cells may hold commas, quotes and line ends.
 * @param most characters of a record
 * @throws Error for a longer one
 */
export async function* records(pieces: AsyncIterable<string>, most: number): AsyncGenerator<string[]> {
  const open = new OpenRecord()
  for await (const piece of pieces) {
    for (const c of piece) {
      if (open.add(c)) yield open.take()
      if (open.length > most) throw new Error(`a line has more than ${most} characters`)
    }
  }
  if (open.length > 0) yield open.take()
}

/** The record that is read. */
class OpenRecord {
  length = 0
  private cells: string[] = []
  private cell = ''
  private isQuoted = false

  /** Takes the next character. @returns whether it ends the record */
  add(c: string): boolean {
    if (!this.isQuoted && c === '\n') return true
    this.length++
    // A quote within quotes is written twice, so that the second one opens them again.
    if (c === QUOTE && !this.isJson) this.isQuoted = !this.isQuoted
    if (c === ',' && !this.isQuoted && !this.isJson) this.endCell()
    else this.cell += c
    return false
  }

  take(): string[] {
    this.endCell()
    const { cells } = this
    this.cells = []
    this.length = 0
    return cells
  }

  private get isJson(): boolean {
    return this.cells.length === 0 && this.cell.startsWith('{')
  }

  private endCell(): void {
    const text = this.cell.endsWith('\r') ? this.cell.slice(0, -1) : this.cell
    this.cells.push(text.startsWith(QUOTE) ? text.slice(1, -1).replaceAll('""', QUOTE) : text)
    this.cell = ''
  }
}
