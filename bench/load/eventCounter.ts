const LF = 10
const COLON = 58
const LETTER_D = 100
const DONE = Buffer.from('data: [DONE]')

/**
 * Counts the events of a stream without parsing them: `data:` lines, comment lines, and whether [DONE] was the last
 * event. Expects LF line ends and one data line an event, as the servers under test send them.
 */
export class EventCounter {
  dataEvents = 0
  comments = 0
  done = false
  private atLineStart = true
  private tail: Buffer[] = []

  reset(): void {
    this.dataEvents = 0
    this.comments = 0
    this.done = false
    this.atLineStart = true
    this.tail = []
  }

  /** Takes the next bytes; returns how many data events began in them. */
  push(bytes: Buffer, start: number, end: number): number {
    const before = this.dataEvents
    let at = start
    while (at < end) {
      if (this.atLineStart) this.beginLine(bytes, at, end)
      const feed = bytes.indexOf(LF, at)
      if (feed < 0 || feed >= end) {
        this.atLineStart = false
        if (this.tail.length > 0) this.tail.push(Buffer.from(bytes.subarray(at, end)))
        break
      }
      if (this.tail.length > 0) this.endSplitLine(bytes.subarray(at, feed))
      this.atLineStart = true
      at = feed + 1
    }
    return this.dataEvents - before
  }

  private beginLine(bytes: Buffer, at: number, end: number): void {
    const first = bytes[at]
    if (first === COLON) this.comments++
    if (first !== LETTER_D) return
    this.dataEvents++
    this.done = false
    if (end - at < DONE.length) this.tail.push(Buffer.alloc(0))
    else if (bytes[at + 6] === DONE[6] && bytes[at + 7] === DONE[7]) this.done = true
  }

  /** Reassembles a data line whose first bytes were split, to detect [DONE]. */
  private endSplitLine(rest: Buffer): void {
    this.done = Buffer.concat([...this.tail, rest])
      .subarray(0, DONE.length)
      .equals(DONE)
    this.tail = []
  }
}
