import type { Citation } from '../shared/citation.ts'
import { partPlace, type ResponseEvents } from './responseEvents.ts'
import type { MessageItem, Part } from './responseItems.ts'

/** Adds citations to the texts of a response: to the one that is open, else to the next one, or the last where none follows. */
export class CitedText {
  private readonly events: ResponseEvents
  /** Citations that came while no text was open. */
  private waiting: Citation[] = []
  /** The newest text, whether it is open or not. */
  private message: MessageItem | null = null
  private part: Part | null = null

  constructor(events: ResponseEvents) {
    this.events = events
  }

  /** A text begins. */
  begin(message: MessageItem, part: Part): void {
    this.message = message
    this.part = part
  }

  /** @param open the part that is open; null for none */
  add(citation: Citation, open: Part | null): void {
    this.waiting.push(citation)
    if (open?.type === 'output_text') this.annotate()
  }

  /** Adds those that wait to the newest text. */
  annotate(): void {
    const { message, part, waiting } = this
    if (message === null || part === null || waiting.length === 0) return
    const place = partPlace(message, message.parts.indexOf(part))
    for (const citation of waiting) {
      const at = part.annotations.push(citation) - 1
      const annotation = `"annotation_index":${at},"annotation":${JSON.stringify(citation)}`
      this.events.emit('response.output_text.annotation.added', `${place},${annotation}`)
    }
    this.waiting = []
  }

  /**
   * The message has ended: citations that no text follows are of the text before them. Where that is done, the response has it
   * with them.
   * @param open the message item that is open; null for none
   */
  end(open: MessageItem | null): void {
    const { message, waiting } = this
    if (message === null || waiting.length === 0) return
    this.annotate()
    if (message !== open) this.events.output[message.index] = message.json('completed')
  }
}
