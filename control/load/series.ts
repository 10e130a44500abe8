/** The answers within a slice of time. */
export interface Slice {
  /** Since the start of the load test. */
  readonly seconds: number
  readonly answers: number
  readonly errors: number
  readonly longestMs: number
}

interface Counts {
  answers: number
  errors: number
  longestMs: number
}

/** Answers over time, in slices of a second, or of more where there would be too many. */
export class Series {
  private readonly slicesMax: number
  private sliceSeconds = 1
  private slices: Counts[] = []

  constructor(slicesMax: number) {
    this.slicesMax = slicesMax
  }

  /** @param atMs since the start of the load test @param totalMs the time that the answer took */
  add(atMs: number, isGood: boolean, totalMs: number): void {
    let place = this.placeOf(atMs)
    while (place >= this.slicesMax) {
      this.halve()
      place = this.placeOf(atMs)
    }
    while (this.slices.length <= place) this.slices.push({ answers: 0, errors: 0, longestMs: 0 })
    const slice = this.slices[place]
    if (slice === undefined) return
    slice.answers++
    if (!isGood) slice.errors++
    slice.longestMs = Math.max(slice.longestMs, totalMs)
  }

  /** Width of a slice. */
  get seconds(): number {
    return this.sliceSeconds
  }

  read(): Slice[] {
    return this.slices.map((slice, i) => {
      return { seconds: i * this.sliceSeconds, ...slice, longestMs: Math.round(slice.longestMs * 10) / 10 }
    })
  }

  private placeOf(atMs: number): number {
    return Math.max(0, Math.floor(atMs / 1_000 / this.sliceSeconds))
  }

  private halve(): void {
    this.sliceSeconds *= 2
    const pairs = this.slices.filter((_, i) => i % 2 === 0)
    this.slices = pairs.map((one, i) => {
      const other = this.slices[2 * i + 1]
      if (other === undefined) return one
      const { answers, errors, longestMs } = other
      return {
        answers: one.answers + answers,
        errors: one.errors + errors,
        longestMs: Math.max(one.longestMs, longestMs),
      }
    })
  }
}
