import type { OutBuffer } from '../../sse/outBuffer.ts'
import type { ItemStatus, MessageItem, OutputItem, ReasoningItem } from './responseItems.ts'
import { type ResponseHead, type ResponseProgress, responseJson } from './responseObject.ts'

/** The events of a response, numbered without a gap, and its output so far. */
export class ResponseEvents {
  /** Every item so far as JSON text, in the form that was sent last. */
  readonly output: string[] = []

  private readonly head: ResponseHead
  private sequence = 0
  private pending = ''

  constructor(head: ResponseHead) {
    this.head = head
  }

  get begun(): boolean {
    return this.sequence > 0
  }

  added(item: OutputItem): void {
    const json = item.json('in_progress')
    this.output.push(json)
    this.emit('response.output_item.added', `"output_index":${item.index},"item":${json}`)
  }

  done(item: OutputItem, status: ItemStatus): void {
    const json = item.json(status)
    this.output[item.index] = json
    this.emit('response.output_item.done', `"output_index":${item.index},"item":${json}`)
  }

  response(event: string, progress: ResponseProgress): void {
    this.emit(event, `"response":${responseJson(this.head, progress)}`)
  }

  /** @param members of the event besides its type and number, as JSON without braces */
  emit(type: string, members: string): void {
    this.pending += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.sequence++},${members}}\n\n`
  }

  /** @param make gets the number of the event */
  append(make: (sequence: number) => string): void {
    this.pending += make(this.sequence++)
  }

  flush(out: OutBuffer): void {
    out.appendText(this.take())
  }

  /** The events that were not sent. */
  take(): string {
    const { pending } = this
    this.pending = ''
    return pending
  }
}

/** The members of events that name an item. */
export function itemPlace({ id, index }: OutputItem): string {
  return `"item_id":"${id}","output_index":${index}`
}

/** Those that name a part of a message, the newest one by default. */
export function partPlace(message: MessageItem, index: number = message.parts.length - 1): string {
  return `${itemPlace(message)},"content_index":${index}`
}

/** Those that name the summary of a thought. */
export function summaryPlace(thought: ReasoningItem): string {
  return `${itemPlace(thought)},"summary_index":0`
}
