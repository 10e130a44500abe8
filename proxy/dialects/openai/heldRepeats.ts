import { choicesOf } from '../../../contract/api/completion.ts'
import { REASONING_NAMES } from '../../../contract/api/saidText.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import type { ChunkScan } from './chunkScan.ts'
import { HeldRepeat } from './heldRepeat.ts'

/** Writes a chunk with one choice as its client would get it. */
type ChoiceWriter = (out: OutBuffer, choice: JsonObject) => void

/**
 * Finds the texts and the reasoning of a stream that come as a whole once more at their end. Reasoning ends with the first
 * output of another kind, the text with the answer.
 */
export class HeldRepeats {
  readonly text = new HeldRepeat()
  readonly thought = new HeldRepeat()
  private isTextAgain = false
  private isThoughtAgain = false

  get isHeld(): boolean {
    return this.text.isHeld || this.thought.isHeld
  }

  /** The chunk that was taken last repeats all before it. */
  get found(): boolean {
    return this.isTextAgain || this.isThoughtAgain
  }

  /**
   * Takes a chunk that was scanned. A held repetition is sent if the chunk has more of the same, and dropped if the chunk ends it.
   * @param isRewritten the reader that rewrites the chunk looks for repetitions itself
   * @returns bytes of the text that was sent
   */
  take(bytes: Buffer, scan: ChunkScan, isRewritten: boolean, out: OutBuffer): number {
    const { choice, outputs, finished, call } = scan
    this.isTextAgain = this.isThoughtAgain = false
    if (outputs === 0) return 0
    let sentBytes = 0
    if (choice.thoughts > 0) sentBytes += this.thought.send(out)
    else this.thought.drop()
    if (choice.thoughtStart >= 0) {
      this.isThoughtAgain = isAgain(this.thought, isRewritten, bytes, choice.thoughtStart, choice.thoughtEnd)
    }
    const isNewThought = choice.thoughtStart >= 0 && !this.isThoughtAgain
    // A choice that only its reader understands is judged after it was read.
    if (choice.isOdd && !isNewThought && choice.textStart < 0 && call.count === 0) return sentBytes
    if (outputs > (this.isThoughtAgain ? choice.thoughts : 0)) sentBytes += this.text.send(out)
    else if (finished) this.text.drop()
    // Texts of several choices are no repetitions of each other.
    if (choice.textStart >= 0 && choice.texts === 1) {
      this.isTextAgain = isAgain(this.text, isRewritten, bytes, choice.textStart, choice.textEnd)
    }
    return sentBytes
  }

  /**
   * Takes what the chunk repeats out of it, and holds it where more of the answer may follow.
   * @param chunk the one that was taken last, parsed
   */
  takeOut(chunk: JsonObject, mayFollow: boolean, write: ChoiceWriter): void {
    const [choice] = choicesOf(chunk)
    if (choice === undefined) return
    const { delta, text, index, logprobs = null } = choice
    const outside = { index: typeof index === 'number' ? index : 0, logprobs, finish_reason: null }
    if (!isJsonObject(delta)) {
      choice['text'] = ''
      if (mayFollow) this.text.hold((out) => write(out, { ...outside, text }))
      return
    }
    const again: [HeldRepeat, JsonObject][] = []
    if (this.isThoughtAgain) again.push([this.thought, cutOut(delta, REASONING_NAMES)])
    if (this.isTextAgain) again.push([this.text, cutOut(delta, ['content'])])
    if (mayFollow) for (const [held, said] of again) held.hold((out) => write(out, { ...outside, delta: said }))
  }

  /** The answer has ended. */
  drop(): void {
    this.text.drop()
    this.thought.drop()
  }
}

function isAgain(held: HeldRepeat, isRewritten: boolean, bytes: Buffer, start: number, end: number): boolean {
  const repeats = held.repeats(bytes, start, end)
  if (repeats && isRewritten) held.pass()
  return repeats && !isRewritten
}

/** Takes members out of an object. @returns those that it had */
function cutOut(from: JsonObject, names: readonly string[]): JsonObject {
  const cut: JsonObject = {}
  for (const name of names) {
    if (from[name] !== undefined) cut[name] = from[name]
    delete from[name]
  }
  return cut
}
