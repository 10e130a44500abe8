import { OutBuffer } from '../../sse/outBuffer.ts'
import { RepeatedText } from './repeatedText.ts'

// A held event is copied out of it immediately.
const scratch = new OutBuffer()

/** A chunk that has the whole text of the answer once more, kept until what follows shows whether it was the last. */
export class HeldRepeat {
  private readonly said = new RepeatedText()
  private event: Buffer | null = null
  private text = ''

  get isHeld(): boolean {
    return this.event !== null
  }

  /** Takes the text of the next chunk, bytes [start, end). @returns whether it repeats all before it */
  repeats(bytes: Buffer, start: number, end: number): boolean {
    const { said } = this
    if (!said.isWatched && end - start !== said.length) {
      // Nearly all chunks: they cost an addition.
      said.length += end - start
      return false
    }
    if (!said.repeatsBytes(bytes, start, end)) return false
    this.text = bytes.toString('latin1', start, end)
    return true
  }

  /** The chunk that was just recognized is passed on all the same. */
  pass(): void {
    this.said.add(this.text)
  }

  /** Keeps the chunk that was just recognized. @param write writes it as its client would get it */
  hold(write: (out: OutBuffer) => void): void {
    scratch.clear()
    write(scratch)
    this.event = scratch.copy()
  }

  /** More of the answer follows, so that the chunk was a part of it. @returns the bytes of its text; 0 for no chunk */
  send(out: OutBuffer): number {
    if (this.event === null) return 0
    out.appendAll(this.event)
    this.event = null
    this.pass()
    return this.text.length
  }

  /** The chunk was the last. */
  drop(): void {
    this.event = null
  }
}
