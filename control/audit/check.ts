/** One invariant, whether it holds, and the checked amount or the faults. */
export interface AuditCheck {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

/** A query that finds the violations of an invariant: rows of one text column. */
export interface Invariant {
  readonly name: string
  /** SQL that counts the checked rows; returns one text. */
  readonly checked: string
  readonly faults: string
}

const EXAMPLES_MAX = 5

/** Faults of one kind: counted all, shown a few, so that an audit stays small however much is wrong. */
export class Faults {
  count = 0
  private readonly examples: string[] = []

  add(example: string): void {
    this.count++
    if (this.examples.length < EXAMPLES_MAX) this.examples.push(example)
  }

  /** @param checked said when nothing is wrong, such as '12 receipts' */
  check(name: string, checked: string): AuditCheck {
    if (this.count === 0) return { name, ok: true, detail: checked }
    const more = this.count > this.examples.length ? `, and ${this.count - this.examples.length} more` : ''
    return { name, ok: false, detail: this.examples.join('; ') + more }
  }
}
