import type { RawContent } from '../thread/content/rawContent.ts'
import type { ContentMemory } from './contentMemory.ts'

/**
 * The content of one request while it is served and until it is exported, within bounds. It is kept as it is: another thread
 * reads it.
 */
export class RequestContent {
  private readonly memory: ContentMemory
  private input = ''
  private output = ''
  private isInputCut = false
  private isOutputCut = false
  private isReleased = false
  private isClosed = false
  private onClosed: (() => void) | undefined

  /** @param body of the request; an empty one is one that was too large to be kept */
  constructor(memory: ContentMemory, body: Buffer) {
    this.memory = memory
    this.isInputCut = body.length === 0 || body.length > memory.rawBytesMax
    if (!this.isInputCut && this.reserve(body.length)) this.input = body.toString('latin1')
  }

  /** Bytes that it has in memory. */
  get bytes(): number {
    return this.input.length + this.output.length
  }

  /** For the thread that exports; null where it was dropped. */
  get raw(): RawContent | null {
    const { input, output, isInputCut, isOutputCut, isReleased } = this
    return isReleased ? null : { input, output, isCut: isInputCut || isOutputCut }
  }

  /** Takes the next bytes of the answer, which are only lent. */
  note(answer: string | Uint8Array): void {
    if (this.isReleased || this.isOutputCut || this.isClosed) return
    const bytes = typeof answer === 'string' ? Buffer.from(answer) : answer
    const length = Math.min(bytes.length, this.memory.rawBytesMax - this.output.length)
    this.isOutputCut = length < bytes.length
    if (!this.reserve(length)) return
    this.output += Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('latin1')
  }

  /** The answer so far does not count: another provider is asked. */
  restart(): void {
    this.memory.give(this.output.length)
    this.output = ''
    this.isOutputCut = false
  }

  /** The answer has ended. Content of a request that nobody has taken by now is not exported. */
  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    if (this.onClosed === undefined) this.release()
    else this.onClosed()
  }

  /** @param then called once the answer has ended, which may be immediately */
  whenClosed(then: () => void): void {
    this.onClosed = then
    if (this.isClosed) then()
  }

  /** It is exported, or nobody needs it. */
  release(): void {
    this.memory.give(this.bytes)
    this.input = ''
    this.output = ''
    this.isReleased = true
  }

  private reserve(bytes: number): boolean {
    if (this.memory.take(bytes)) return true
    this.release()
    this.memory.onDropped()
    return false
  }
}
