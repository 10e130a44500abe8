import type { TokenUsage } from '../../../contract/money/charge.ts'
import { readUsage, type UsageBounds, usageJson } from '../../../contract/money/openaiUsage.ts'
import { errorEvent } from '../../sse/errorEvent.ts'
import { dataStart, type EventBounds, FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import { NOWHERE, type OutBuffer } from '../../sse/outBuffer.ts'
import { appendComment, joinLines, parseBytes } from '../../sse/sseText.ts'
import type { RelayStream, StreamState, StreamTail } from '../shared/relayStream.ts'
import { ChunkScan } from './chunkScan.ts'
import { ChunkTemplate } from './chunkTemplate.ts'
import { appendChunk, type ChunkIdentity } from './rewrite.ts'

const LF = 10
const DONE = Buffer.from('[DONE]')

/** The event that ends every stream of chunks. */
export const STREAM_END = 'data: [DONE]\n\n'

// One scan serves all streams of the process: it is used within one turn.
const scan = new ChunkScan()

/**
 * Reads a provider's stream of chat.completion.chunk or text_completion events and writes the client's stream: every chunk
 * under the request's id and public model, usage taken out and remembered, one event each.
 */
export class ChatStream implements FrameSink, RelayStream {
  state: StreamState = 'waiting'
  /** A finish_reason has been seen. */
  finished = false
  /** The last usage that was reported; cumulative reports replace each other. */
  usage: TokenUsage | null = null
  /** An error event of the provider, parsed. */
  error: unknown = null
  outputFrames = 0
  outputBytes = 0
  /** Output frames that had arrived when the usage was last reported. */
  framesAtUsage = 0

  private readonly reader: FrameReader
  private out: OutBuffer = NOWHERE
  private readonly identity: ChunkIdentity
  private readonly keepNullUsage: boolean
  private readonly bounds: UsageBounds
  private readonly template = new ChunkTemplate()
  private created = ''
  private echo: string

  /**
   * @param keepNullUsage the client asked for usage, so `usage: null` on ordinary chunks stays
   * @param echo text of the gateway's own that the answer begins with, in a chunk of its own
   */
  constructor(
    identity: ChunkIdentity,
    keepNullUsage: boolean,
    bounds: UsageBounds,
    eventBounds: EventBounds,
    echo: string = '',
  ) {
    this.identity = identity
    this.keepNullUsage = keepNullUsage
    this.bounds = bounds
    this.reader = new FrameReader(eventBounds)
    this.echo = echo
  }

  /**
   * Reads the provider's next bytes; look at `state` afterwards.
   * @param out where rewritten events are appended
   */
  push(bytes: Buffer, out: OutBuffer): void {
    if (this.state === 'broken' || this.state === 'done') return
    this.out = out
    if (!this.reader.push(bytes, this)) this.state = 'broken'
  }

  /** The provider's stream has ended. */
  finish(out: OutBuffer): void {
    this.out = out
    if (this.state !== 'broken' && this.state !== 'done') this.reader.finish(this)
  }

  /** Whether the answer is whole: it ended itself, by a finish_reason or by [DONE] after output. */
  get complete(): boolean {
    return this.finished || (this.state === 'done' && this.outputFrames > 0)
  }

  onEvent(bytes: Buffer, start: number, end: number): number {
    if (this.state !== 'flowing') return -1
    const from = dataStart(bytes, start, end)
    const dataEnd = from < 0 ? -1 : this.template.match(bytes, from, end)
    if (dataEnd < 0 || dataEnd + 2 > end || bytes[dataEnd] !== LF || bytes[dataEnd + 1] !== LF) return -1
    this.writeMatched(bytes)
    return dataEnd + 2
  }

  onData(bytes: Buffer, start: number, end: number, lines: number): void {
    if (this.state === 'broken' || this.state === 'done') return
    if (lines > 1) joinLines(bytes, start, end)
    if (this.template.match(bytes, start, end) === end) {
      this.writeMatched(bytes)
      return
    }
    if (end - start === DONE.length && bytes.compare(DONE, 0, DONE.length, start, end) === 0) {
      this.state = 'done'
      return
    }
    // Clients trust a receipt, whoever wrote it.
    if (!scan.scan(bytes, start, end) || scan.hasReceipt) {
      this.state = 'broken'
      return
    }
    if (scan.errorStart >= 0) {
      this.error = parseBytes(bytes, scan.errorStart, scan.errorEnd)
      this.state = 'broken'
      return
    }
    if (this.created === '' && scan.createdStart >= 0) {
      this.created = bytes.toString('latin1', scan.createdStart, scan.createdEnd)
    }
    if (scan.usageStart >= 0 && !scan.usageIsNull) {
      this.usage = readUsage(parseBytes(bytes, scan.usageStart, scan.usageEnd), this.bounds) ?? this.usage
    }
    if (scan.hasChoices) this.relay(bytes, start, end)
    if (scan.usageStart >= 0 && !scan.usageIsNull) this.framesAtUsage = this.outputFrames
  }

  onComment(bytes: Buffer, start: number, end: number): void {
    if (this.state === 'broken' || this.state === 'done') return
    appendComment(this.out, bytes, start, end)
  }

  tail({ usage, fault, receipt, startedAtMs }: StreamTail): string {
    if (this.created === '') this.created = String(Math.floor(startedAtMs / 1000))
    const wanted = this.keepNullUsage ? this.ownEvent(`"choices":[],"usage":${usageJson(usage)}`) : ''
    const last = fault !== null ? errorEvent(fault) : wanted
    return last + (receipt === '' ? '' : `: receipt ${receipt}\n\n`) + STREAM_END
  }

  /** A chunk of the gateway's own, as one event. */
  private ownEvent(members: string): string {
    const { id, object, model } = this.identity
    return `data: {"id":${id},"object":"${object}","created":${this.created || 0},"model":${model},${members}}\n\n`
  }

  /** Writes the chunk that the template has just found. */
  private writeMatched(bytes: Buffer): void {
    this.outputFrames++
    this.outputBytes += this.template.textEnd - this.template.textStart
    this.template.append(this.out, bytes)
  }

  private writeEcho(): void {
    const choice = `{"index":0,"text":${JSON.stringify(this.echo)},"logprobs":null,"finish_reason":null}`
    this.out.appendText(this.ownEvent(`"choices":[${choice}]${this.keepNullUsage ? ',"usage":null' : ''}`))
    this.echo = ''
  }

  private relay(bytes: Buffer, start: number, end: number): void {
    // Not before the answer itself: once bytes are written, no other provider can serve the request.
    if (this.echo !== '' && (scan.outputs > 0 || scan.finished)) this.writeEcho()
    if (scan.outputs > 0) {
      this.outputFrames++
      this.outputBytes += scan.outputBytes
    }
    if (scan.finished) this.finished = true
    if (this.state === 'waiting' && (scan.outputs > 0 || scan.finished)) this.state = 'flowing'
    const dropUsage = scan.usageStart >= 0 && !(scan.usageIsNull && this.keepNullUsage)
    appendChunk(this.out, bytes, start, end, scan, this.identity, dropUsage)
    this.template.learn(bytes, start, end, scan, this.identity, dropUsage)
  }
}
