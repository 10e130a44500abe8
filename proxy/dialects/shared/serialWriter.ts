import { OutBuffer } from '../../sse/outBuffer.ts'
import { ArgumentsText } from './argumentsText.ts'
import type { Citation } from './citation.ts'
import type { FinishReason, MessageWriter } from './message.ts'
import type { StreamTail } from './relayStream.ts'
import type { Thought } from './thought.ts'

/** Writes a message whose parts come one after the other: what begins ends what is open. */
export interface ItemWriter extends Omit<MessageWriter, 'toolCall' | 'toolArguments'> {
  call(id: string, name: string): void
  /**
   * Takes a piece of the arguments of the call that is open.
   * @param text the arguments with this piece
   */
  callArguments(piece: string, text: ArgumentsText): void
}

type Kind = 'text' | 'reasoning' | 'refusal'

interface Call {
  readonly index: number
  readonly id: string
  readonly name: string
  readonly arguments: ArgumentsText
  /** Pieces that the writer has not got. */
  held: string
}

type Waiting =
  | { readonly kind: Kind; text: string }
  | { readonly thought: Thought }
  | { readonly call: Call }
  | { readonly citation: Citation }

/**
 * Brings a message into the order of a format whose parts come one after the other, while the pieces of a provider's calls
 * may be interleaved with each other and with text: what follows an open call waits until its arguments are an object that
 * has ended, or the message has. The text that waits is part of the output that `TranslatedStream` bounds.
 */
export class SerialWriter implements MessageWriter {
  readonly thoughtEnds?: (thought: Thought) => void
  readonly cites?: (citation: Citation) => void

  private readonly writer: ItemWriter
  private open: Call | null = null
  private readonly waiting: Waiting[] = []
  /** The open call and those that wait. */
  private readonly calls = new Map<number, Call>()

  constructor(writer: ItemWriter) {
    this.writer = writer
    if (writer.thoughtEnds !== undefined) this.thoughtEnds = (thought) => this.add({ thought })
    if (writer.cites !== undefined) this.cites = (citation) => this.add({ citation })
  }

  get out(): OutBuffer {
    return this.writer.out
  }

  set out(out: OutBuffer) {
    this.writer.out = out
  }

  text(piece: string): void {
    this.say('text', piece)
  }

  reasoning(piece: string): void {
    this.say('reasoning', piece)
  }

  refusal(piece: string): void {
    this.say('refusal', piece)
  }

  toolCall(index: number, id: string, name: string): void {
    const call = { index, id, name, arguments: new ArgumentsText(), held: '' }
    this.calls.set(index, call)
    this.add({ call })
  }

  toolArguments(index: number, piece: string): void {
    const call = this.calls.get(index)
    if (call === undefined) return
    const own = call.arguments.push(piece)
    if (call !== this.open) call.held += own
    else if (own !== '') this.writer.callArguments(own, call.arguments)
    if (this.waiting.length > 0 && !this.isHeld) this.release()
  }

  ends(reason: FinishReason): void {
    this.writer.ends(reason)
  }

  /** After a fault the client gets nothing of what waits, because the call before it would look complete. */
  tail(tail: StreamTail): string {
    if (tail.fault !== null || this.waiting.length === 0) return this.writer.tail(tail)
    const rest = new OutBuffer()
    this.writer.out = rest
    for (const item of this.waiting) this.pass(item)
    return rest.view().toString('utf8') + this.writer.tail(tail)
  }

  private get isHeld(): boolean {
    return this.open !== null && !this.open.arguments.isWhole
  }

  private say(kind: Kind, piece: string): void {
    if (!this.isHeld) {
      this.close()
      this.writer[kind](piece)
      return
    }
    const last = this.waiting.at(-1)
    if (last !== undefined && 'kind' in last && last.kind === kind) last.text += piece
    else this.waiting.push({ kind, text: piece })
  }

  private add(item: Waiting): void {
    if (this.isHeld) this.waiting.push(item)
    else this.pass(item)
  }

  private release(): void {
    let passed = 0
    for (const item of this.waiting) {
      if (this.isHeld) break
      this.pass(item)
      passed++
    }
    this.waiting.splice(0, passed)
  }

  private pass(item: Waiting): void {
    if ('citation' in item) {
      this.writer.cites?.(item.citation)
      return
    }
    this.close()
    if ('kind' in item) this.writer[item.kind](item.text)
    else if ('thought' in item) this.writer.thoughtEnds?.(item.thought)
    else this.begin(item.call)
  }

  private begin(call: Call): void {
    this.open = call
    this.writer.call(call.id, call.name)
    if (call.held !== '') this.writer.callArguments(call.held, call.arguments)
    call.held = ''
  }

  /** Pieces of a call that has ended are of no use to anybody. */
  private close(): void {
    if (this.open !== null) this.calls.delete(this.open.index)
    this.open = null
  }
}
