/** Receives the number of rows that an audit has read, and their total. */
export type OnProgress = (rows: number, total: number) => void

/** Counts the rows that an audit reads. */
export class Progress {
  private rows = 0
  private total = 0
  private readonly onProgress: OnProgress | undefined

  constructor(onProgress: OnProgress | undefined) {
    this.onProgress = onProgress
  }

  /** Adds to the number of rows that are to be read. */
  expect(rows: number): void {
    this.total += rows
  }

  add(rows: number): void {
    this.rows += rows
    this.onProgress?.(this.rows, Math.max(this.rows, this.total))
  }
}
