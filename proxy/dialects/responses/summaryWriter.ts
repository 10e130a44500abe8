import type { OutBuffer } from '../../sse/outBuffer.ts'
import type { FinishReason, MessageWriter } from '../shared/message.ts'
import type { PackBound } from '../shared/packed.ts'
import type { StreamTail } from '../shared/relayStream.ts'
import type { ResponseWriter } from './responseWriter.ts'
import { packSummary, SummaryItem, summaryIn } from './summary.ts'

/** Writes a summary as the one item of a response, once the model has written all of it. */
export class SummaryWriter implements MessageWriter {
  private readonly writer: ResponseWriter
  private readonly bound: PackBound
  private readonly said = { text: '', refusal: '', reasoning: '' }
  private written = false

  constructor(writer: ResponseWriter, bound: PackBound) {
    this.writer = writer
    this.bound = bound
  }

  get out(): OutBuffer {
    return this.writer.out
  }

  set out(out: OutBuffer) {
    this.writer.out = out
  }

  text(piece: string): void {
    this.said.text += piece
  }

  reasoning(piece: string): void {
    this.said.reasoning += piece
  }

  refusal(piece: string): void {
    this.said.refusal += piece
  }

  // The model was offered no tools.
  toolCall(): void {}

  toolArguments(): void {}

  ends(reason: FinishReason): void {
    if (!this.written) {
      this.written = true
      const packed = packSummary(summaryIn(this.said), this.bound)
      this.writer.whole((ids, index) => new SummaryItem(ids, index, packed))
    }
    this.writer.ends(reason)
  }

  tail(tail: StreamTail): string {
    return this.writer.tail(tail)
  }
}
