import { type JsonObject, parseJsonObject } from '../../contract/std/jsonObject.ts'
import type { Span } from '../../contract/std/span.ts'
import { CutJson } from './cutJson.ts'
import { type AnswerBounds, parseAnswer } from './jsonObject.ts'

/** A provider's answer as JSON, with the places of the large values in it that are relayed as they are. */
export class AnswerJson {
  readonly bytes: Buffer
  /** In their order. */
  readonly cuts: readonly Span[]
  private readonly cut: CutJson | undefined

  /** @param cuts of the scan that counted it; absent for an answer that is so small that it was not counted */
  constructor(bytes: Buffer, cuts?: readonly Span[]) {
    this.bytes = bytes
    this.cuts = cuts ?? []
    this.cut = cuts === undefined ? undefined : new CutJson(bytes, cuts, 'values')
  }

  /** The JSON with a mark in place of each value that is cut out. */
  get rest(): Buffer {
    return this.cut === undefined || this.cuts.length === 0 ? this.bytes : this.cut.rest()
  }

  /** The bytes of the value that is cut out; undefined unless it is the only one. */
  only(): Buffer | undefined {
    const [cut, ...others] = this.cuts
    return cut === undefined || others.length > 0 ? undefined : this.bytes.subarray(cut.start, cut.end)
  }

  /** The JSON object without the values that are cut out; null for anything else, and for one that exceeds the bounds. */
  parse(bounds: AnswerBounds): JsonObject | null {
    return this.cut === undefined ? parseAnswer(this.bytes, bounds) : parseJsonObject(this.cut.text())
  }

  /** JSON that was made of the object, with the values in the places of their marks. */
  fill(json: string): string | Buffer {
    return this.cut === undefined || this.cuts.length === 0 ? json : Buffer.concat(this.cut.fill(json))
  }
}
