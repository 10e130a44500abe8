import type { Citation } from '../shared/citation.ts'

/** The progress of an output item. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export type PartType = 'output_text' | 'refusal'

/** A part of a message of a response. */
export interface Part {
  readonly type: PartType
  text: string
  readonly annotations: Citation[]
}

/** An output item of a response while it is being written. */
export interface OutputItem {
  readonly id: string
  /** Its place in the output. */
  readonly index: number
  /** The item as JSON text. */
  json(status: ItemStatus): string
}

/** The model's message. */
export class MessageItem implements OutputItem {
  readonly id: string
  readonly index: number
  readonly parts: Part[] = []

  constructor(ids: ItemIds, index: number) {
    this.id = ids.of('msg', index)
    this.index = index
  }

  json(status: ItemStatus): string {
    const content = this.parts.map(partJson).join(',')
    return `{"type":"message","id":"${this.id}","status":"${status}","role":"assistant","content":[${content}]}`
  }
}

/** The model's reasoning if its provider shows it, or wants it back; a summary in this format. */
export class ReasoningItem implements OutputItem {
  readonly id: string
  readonly index: number
  text = ''
  /** The text that the client sends back for the provider to read; '' for none. */
  packed = ''

  constructor(ids: ItemIds, index: number) {
    this.id = ids.of('rs', index)
    this.index = index
  }

  json(status: ItemStatus): string {
    const summary = this.text === '' ? '' : summaryJson(this.text)
    const packed = this.packed === '' ? '' : `,"encrypted_content":"${this.packed}"`
    return `{"type":"reasoning","id":"${this.id}","status":"${status}","summary":[${summary}]${packed}}`
  }
}

/** A part of a message as JSON text. */
export function partJson({ type, text, annotations }: Part): string {
  if (type === 'refusal') return `{"type":"refusal","refusal":${JSON.stringify(text)}}`
  return `{"type":"output_text","text":${JSON.stringify(text)},"annotations":${JSON.stringify(annotations)},"logprobs":[]}`
}

/** A part of a reasoning summary as JSON text. */
export function summaryJson(text: string): string {
  return `{"type":"summary_text","text":${JSON.stringify(text)}}`
}

/** Makes the ids of a response's items from the id of the request, which no other response has. */
export class ItemIds {
  private readonly suffix: string

  /** @param requestId such as req_01ARZ3NDEKTSV4RRFFQ69G5FAV */
  constructor(requestId: string) {
    this.suffix = requestId.slice(requestId.indexOf('_') + 1)
  }

  /** @param index the item's place in the output */
  of(prefix: 'msg' | 'rs' | 'fc' | 'ctc' | 'tsc' | 'lsh' | 'sh' | 'apc' | 'cmp' | 'call', index: number): string {
    return `${prefix}_${this.suffix}_${index}`
  }
}
