const NUMBER_AT_END = /(\d{1,9})\s*$/

/**
 * Finds lost and reordered frames of a stream whose frames are numbered, as those of the mock provider are: the text of each
 * ends in a number, the first in 0 or 1, each next one in the next number. Of any other stream nothing is said.
 */
export class FrameOrder {
  /** Frames that came after a later one, or twice. */
  private disordered = 0
  private frames = 0
  private next = 0
  private isNumbered = true
  private readonly missing = new Set<number>()
  private readonly missingMax: number

  constructor(missingMax: number) {
    this.missingMax = missingMax
  }

  /** Takes the text of the next frame. */
  push(text: string): void {
    if (!this.isNumbered) return
    const number = Number(NUMBER_AT_END.exec(text)?.[1] ?? -1)
    if (number < 0 || (this.frames === 0 && number > 1) || number - this.next > this.missingMax) this.giveUp()
    else this.take(number)
  }

  /** The frames that are missing up to the last one that came. */
  get lost(): number {
    return this.isSure ? this.missing.size : 0
  }

  get reordered(): number {
    return this.isSure ? this.disordered : 0
  }

  /** Numbers that a text has by chance do not count up. */
  private get isSure(): boolean {
    return this.isNumbered && this.frames > 2 * (this.missing.size + this.disordered)
  }

  private take(number: number): void {
    if (this.frames++ === 0) this.next = number
    if (number < this.next) {
      this.missing.delete(number)
      this.disordered++
      return
    }
    for (; this.next < number; this.next++) this.missing.add(this.next)
    this.next++
    if (this.missing.size > this.missingMax) this.giveUp()
  }

  private giveUp(): void {
    this.isNumbered = false
    this.missing.clear()
  }
}
