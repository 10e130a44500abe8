import { reasonWithCalls } from '../../../contract/api/finishReason.ts'
import type { ReportedUsage } from '../../../contract/money/usageReports.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import type { Citation } from './citation.ts'
import type { FinishReason, MessageReader, MessageSink, MessageWriter } from './message.ts'
import { isPaid, type RelayStream, type StreamState, type StreamTail } from './relayStream.ts'
import { callThought, type Thought } from './thought.ts'

/** A stream whose client and provider speak different formats: read in the one, written in the other. */
export class TranslatedStream implements RelayStream, MessageSink {
  state: StreamState = 'waiting'
  finished = false
  outputFrames = 0
  outputBytes = 0
  framesAtUsage = 0
  readonly thoughtEnds?: (thought: Thought) => void
  readonly cites?: (citation: Citation) => void

  private readonly reader: MessageReader
  private readonly writer: MessageWriter
  private readonly outputBytesMax: number
  /** Tool calls that the writer has got. */
  private calls = 0
  /** The reason that the writer has got last. */
  private reason: FinishReason | null = null
  /** Of blocks of thinking and citations, in addition to the output. */
  private keptBytes = 0
  private seenUsage: ReportedUsage | null = null

  /** @param outputBytesMax an answer with more is broken, since a writer may have to keep it whole */
  constructor(reader: MessageReader, writer: MessageWriter, outputBytesMax: number) {
    this.reader = reader
    this.writer = writer
    this.outputBytesMax = outputBytesMax
    if (writer.cites !== undefined) {
      this.cites = (citation) => {
        this.keptBytes += JSON.stringify(citation).length
        writer.cites?.(citation)
      }
    }
    if (writer.thoughtEnds === undefined) return
    this.thoughtEnds = (thought) => {
      // The writer keeps it, so that it counts for the bound of kept text.
      this.keptBytes += JSON.stringify(thought).length
      writer.thoughtEnds?.(thought)
    }
  }

  get complete(): boolean {
    return this.finished || (this.state === 'done' && this.outputFrames > 0)
  }

  get hasChoice(): boolean {
    return this.reader.hasChoice
  }

  get usage(): ReportedUsage | null {
    return this.reader.usage
  }

  get error(): unknown {
    return this.reader.error
  }

  push(bytes: Buffer, out: OutBuffer): void {
    if (this.state === 'broken' || this.state === 'done') return
    this.writer.out = out
    this.reader.push(bytes, this)
    this.note()
  }

  finish(out: OutBuffer): void {
    if (this.state === 'broken' || this.state === 'done') return
    this.writer.out = out
    this.reader.end(this)
    this.note()
    this.endAgain()
  }

  tail(tail: StreamTail): string {
    return this.writer.tail(tail)
  }

  text(piece: string): void {
    this.output(piece)
    this.writer.text(piece)
  }

  reasoning(piece: string): void {
    this.output(piece)
    this.writer.reasoning(piece)
  }

  refusal(piece: string): void {
    this.output(piece)
    this.writer.refusal(piece)
  }

  toolCall(index: number, id: string, name: string, extra: JsonObject | null = null): void {
    this.output(name)
    this.calls++
    const thought = callThought(extra)
    if (thought !== null) this.thoughtEnds?.(thought)
    this.writer.toolCall(index, id, name, extra)
  }

  toolArguments(index: number, piece: string): void {
    this.output(piece)
    this.writer.toolArguments(index, piece)
  }

  ends(reason: FinishReason): void {
    this.finished = true
    this.flowing()
    const known = reasonWithCalls(reason, this.calls)
    if (known === this.reason) return
    this.reason = known
    this.writer.ends(known)
  }

  private output(piece: string): void {
    this.noteUsage()
    // Output that the reader held until the end had arrived before the report.
    if (this.reader.done && this.framesAtUsage === this.outputFrames) this.framesAtUsage++
    this.outputFrames++
    this.outputBytes += Buffer.byteLength(piece)
    this.flowing()
  }

  // A provider may end its stream without a reason, for which clients wait, or write a call after it.
  private close(): void {
    if (this.reason === null && (this.outputFrames > 0 || isPaid(this))) this.ends('stop')
    this.endAgain()
    this.state = 'done'
  }

  /** Gives the reason anew if a call came after it: only now, because the arguments of the call come after its beginning. */
  private endAgain(): void {
    if (this.reason !== null && this.state !== 'broken') this.ends(this.reason)
  }

  private flowing(): void {
    if (this.state === 'waiting') this.state = 'flowing'
  }

  // Called before each piece, so that output that follows a usage report in the same read is counted after it.
  private noteUsage(): void {
    if (this.reader.usage === this.seenUsage) return
    this.seenUsage = this.reader.usage
    this.framesAtUsage = this.outputFrames
  }

  private note(): void {
    this.noteUsage()
    if (this.reader.broken || this.outputBytes + this.keptBytes > this.outputBytesMax) this.state = 'broken'
    else if (this.reader.done) this.close()
  }
}
