import { StringDecoder } from 'node:string_decoder'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../contract/std/jsonObject.ts'
import type { Answer } from './answer.ts'
import { FrameOrder } from './frameOrder.ts'
import type { RequestKind } from './kinds.ts'
import type { LoadLimits } from './limits.ts'

const RECEIPT = ': receipt '
const HTTP_OK = 200

/** Reads one answer while it arrives, and measures it. */
export class AnswerReader {
  private readonly kind: RequestKind
  private readonly limits: LoadLimits
  private readonly decoder = new StringDecoder('utf8')
  private readonly order: FrameOrder
  private readonly gapsMs: number[] = []
  private status = 0
  private head = ''
  /** The body so far, or the line of a stream that has begun. */
  private text = ''
  private firstMs = 0
  private lastMs = 0
  private longestGapMs = 0
  private stalls = 0
  private isDone = false
  private failure = ''
  private usage: JsonObject | undefined
  private receipt: JsonObject | undefined

  constructor(kind: RequestKind, limits: LoadLimits) {
    this.kind = kind
    this.limits = limits
    this.order = new FrameOrder(limits.loadMissingFramesMax)
  }

  /** Whether the server closes the connection after this answer. */
  get isLast(): boolean {
    const hasLength = /\r\n(content-length|transfer-encoding):/i.test(this.head)
    return !hasLength || this.head.startsWith('HTTP/1.0') || /\r\nconnection:\s*close/i.test(this.head)
  }

  /** @param head status line and fields */
  onHead(status: number, head: string): void {
    this.status = status
    this.head = head
  }

  /** @throws Error when the answer is larger than a load test reads */
  onBody(bytes: Buffer, nowMs: number): void {
    this.text += this.decoder.write(bytes)
    if (this.isStream) this.readLines(nowMs)
    else if (this.firstMs === 0) this.firstMs = nowMs
    if (this.text.length > this.limits.loadAnswerBytes) throw new Error('answer_too_large')
  }

  /**
   * The whole answer.
   * @param failure why it did not come to its end; empty when it did
   */
  finish(key: string, dueMs: number, endMs: number, failure: string): Answer {
    if (this.isStream && this.text !== '') this.readLine(this.text, endMs)
    else if (!this.isStream && failure === '') this.readWhole()
    const errorCode = this.codeOf(failure)
    return {
      kind: this.kind,
      key,
      status: this.status,
      dueMs,
      firstMs: this.firstMs,
      endMs,
      errorCode,
      isCut: errorCode !== '' && this.isStream,
      requestId: this.field('x-request-id') ?? '',
      usage: this.usage,
      receipt: this.receipt,
      costUnits: this.field('x-cost-units'),
      lostFrames: this.order.lost,
      reorderedFrames: this.order.reordered,
      stalls: this.stalls,
      longestGapMs: this.longestGapMs,
      gapsMs: this.gapsMs,
    }
  }

  private get isStream(): boolean {
    return this.kind.isStreamed && this.status === HTTP_OK
  }

  /** An error that the gateway named says more than the end of the connection behind it. */
  private codeOf(failure: string): string {
    if (this.failure !== '') return this.failure
    if (failure !== '') return failure
    if (this.status !== HTTP_OK) return `http_${this.status}`
    return this.isStream && !this.isDone ? 'no_done' : ''
  }

  private field(name: string): string | undefined {
    return new RegExp(`\\r\\n${name}:\\s*([^\\r]*)`, 'i').exec(this.head)?.[1]
  }

  private readWhole(): void {
    const body = parseJsonObject(this.text)
    if (body === null && this.status === HTTP_OK) this.failure = 'not_json'
    if (body !== null) this.readMembers(body)
  }

  private readLines(nowMs: number): void {
    let from = 0
    for (let end = this.text.indexOf('\n'); end >= 0; end = this.text.indexOf('\n', from)) {
      this.readLine(this.text.slice(from, end), nowMs)
      from = end + 1
    }
    this.text = this.text.slice(from)
  }

  private readLine(line: string, nowMs: number): void {
    if (line.startsWith(RECEIPT)) this.receipt = parseJsonObject(line.slice(RECEIPT.length)) ?? this.receipt
    if (!line.startsWith('data:')) return
    const data = line.slice('data:'.length).trim()
    this.isDone = data === '[DONE]'
    if (this.isDone) return
    const chunk = parseJsonObject(data)
    if (chunk === null) this.failure = 'not_json'
    else this.readChunk(chunk, nowMs)
  }

  private readChunk(chunk: JsonObject, nowMs: number): void {
    this.readMembers(chunk)
    const choices: unknown = chunk['choices']
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    const delta = isJsonObject(choice) ? choice['delta'] : undefined
    if (!isJsonObject(delta)) return
    const content = delta['content']
    const isText = typeof content === 'string' && content !== ''
    if (isText) this.order.push(content)
    if (isText || delta['tool_calls'] || delta['reasoning_content'] || delta['reasoning']) this.noteOutput(nowMs)
  }

  private noteOutput(nowMs: number): void {
    if (this.firstMs === 0) this.firstMs = nowMs
    else {
      const gapMs = nowMs - this.lastMs
      this.gapsMs.push(gapMs)
      if (gapMs > this.longestGapMs) this.longestGapMs = gapMs
      if (gapMs >= this.limits.loadStallMs) this.stalls++
    }
    this.lastMs = nowMs
  }

  private readMembers({ usage, receipt, error }: JsonObject): void {
    if (isJsonObject(usage)) this.usage = usage
    if (isJsonObject(receipt)) this.receipt = receipt
    if (!isJsonObject(error)) return
    const { code, type } = error
    this.failure =
      [code, type].find((name) => typeof name === 'string' && /^[\w.-]{1,64}$/.test(name))?.toString() ?? 'error'
  }
}
