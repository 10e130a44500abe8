import { parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { NOWHERE, type OutBuffer } from '../../sse/outBuffer.ts'
import { STREAM_END } from '../openai/ownChunks.ts'
import type { Citation } from '../shared/citation.ts'
import { type ClientTool, clientTool } from '../shared/clientTools.ts'
import { type FinishReason, NO_ARGUMENTS } from '../shared/message.ts'
import { packReasoning } from '../shared/ownReasoning.ts'
import type { PackBound } from '../shared/packed.ts'
import type { StreamTail } from '../shared/relayStream.ts'
import type { ItemWriter } from '../shared/serialWriter.ts'
import { packThought, type Thought } from '../shared/thought.ts'
import { CallItem } from './callItem.ts'
import { responseErrorEvent } from './errorEvent.ts'
import {
  ItemIds,
  type ItemStatus,
  MessageItem,
  type OutputItem,
  type Part,
  type PartType,
  partJson,
  ReasoningItem,
  summaryJson,
} from './responseItems.ts'
import { BEGUN, incompleteReason, type ResponseHead, type ResponseProgress, responseJson } from './responseObject.ts'

/**
 * Writes a message as the events of a response, numbered without a gap. Text, thoughts and calls become output items, each
 * of which is done before the next one is added: clients keep the one that they have got last.
 */
export class ResponseWriter implements ItemWriter {
  out: OutBuffer = NOWHERE

  private readonly head: ResponseHead
  private readonly ids: ItemIds
  private readonly tools: readonly ClientTool[] | undefined
  private readonly thoughts: PackBound | null
  /** Absent for a client that sends no thinking back. */
  readonly thoughtEnds?: (thought: Thought) => void
  private sequence = 0
  private pending = ''
  private finish: FinishReason = 'stop'
  /** Every item so far as JSON text, in the form that was sent last. */
  private readonly output: string[] = []
  private reasoningItem: ReasoningItem | null = null
  private message: MessageItem | null = null
  private part: Part | null = null
  private openCall: CallItem | null = null
  /** Citations that came while no text was open. */
  private cited: Citation[] = []

  /**
   * @param tools those that the client knows otherwise than the provider; absent for none
   * @param thoughts the bound of what the client gets to send thinking back; null for a client that does not
   */
  constructor(head: ResponseHead, tools?: readonly ClientTool[], thoughts: PackBound | null = null) {
    this.head = head
    this.tools = tools
    this.thoughts = thoughts
    if (thoughts !== null) this.thoughtEnds = (thought) => this.endThought(packThought(thought, thoughts))
    this.ids = new ItemIds(head.id)
  }

  text(piece: string): void {
    this.say('output_text', 'response.output_text.delta', piece, ',"logprobs":[]')
  }

  refusal(piece: string): void {
    this.say('refusal', 'response.refusal.delta', piece, '')
  }

  cites(citation: Citation): void {
    this.cited.push(citation)
    if (this.part?.type === 'output_text') this.annotate()
    this.flush()
  }

  reasoning(piece: string): void {
    const thought = this.openThought()
    if (thought.text === '')
      this.emit('response.reasoning_summary_part.added', `${summary(thought)},"part":${summaryJson('')}`)
    thought.text += piece
    this.emit('response.reasoning_summary_text.delta', `${summary(thought)},"delta":${JSON.stringify(piece)}`)
    this.flush()
  }

  private endThought(packed: string): void {
    this.openThought().packed = packed
    this.closeThought('completed')
    this.flush()
  }

  call(id: string, name: string): void {
    this.begin()
    this.closeOpen('completed')
    this.openCall = new CallItem(this.ids, this.output.length, id, clientTool(this.tools, name))
    this.emitAdded(this.openCall)
    this.flush()
  }

  callArguments(piece: string): void {
    if (this.openCall === null) return
    this.writeArguments(this.openCall, piece)
    this.flush()
  }

  /** Writes an item that the client gets in one piece. @param make gets the place in the output */
  whole(make: (ids: ItemIds, index: number) => OutputItem): void {
    this.begin()
    this.closeOpen('completed')
    const item = make(this.ids, this.output.length)
    this.emitAdded(item)
    this.emitDone(item, 'completed')
    this.flush()
  }

  ends(reason: FinishReason): void {
    this.begin()
    this.finish = reason
    this.flush()
  }

  tail({ usage, fault, receipt }: StreamTail): string {
    this.begin()
    if (fault === null) {
      const reason = incompleteReason(this.finish)
      this.closeOpen(reason === null ? 'completed' : 'incomplete')
      const status = reason === null ? 'completed' : 'incomplete'
      this.emitResponse(`response.${status}`, { ...BEGUN, status, output: this.output, usage, reason, receipt })
    } else {
      this.abandon()
      this.pending += responseErrorEvent(fault, this.sequence++)
      this.emitResponse('response.failed', {
        ...BEGUN,
        status: 'failed',
        output: this.output,
        usage,
        error: fault,
        receipt,
      })
    }
    const last = this.pending + (receipt === '' ? '' : `: receipt ${receipt}\n\n`) + STREAM_END
    this.pending = ''
    return last
  }

  private begin(): void {
    if (this.sequence > 0) return
    this.emitResponse('response.created', BEGUN)
    this.emitResponse('response.in_progress', BEGUN)
  }

  private say(type: PartType, event: string, piece: string, more: string): void {
    this.begin()
    this.closeThought('completed')
    this.closeCall('completed')
    const { message, part } = this.partOf(type)
    part.text += piece
    this.emit(event, `${place(message)},"delta":${JSON.stringify(piece)}${more}`)
    if (type === 'output_text') this.annotate()
    this.flush()
  }

  /** The open part of this type, which a part of another type ends. */
  private partOf(type: PartType): { message: MessageItem; part: Part } {
    let { message, part } = this
    if (message === null) {
      message = new MessageItem(this.ids, this.output.length)
      this.message = message
      this.emitAdded(message)
    }
    if (part === null || part.type !== type) {
      this.closePart()
      part = { type, text: '', annotations: [] }
      this.part = part
      message.parts.push(part)
      this.emit('response.content_part.added', `${place(message)},"part":${partJson(part)}`)
    }
    return { message, part }
  }

  /** Adds the citations to the text that is open. */
  private annotate(): void {
    const { message, part, cited } = this
    if (message === null || part === null || cited.length === 0) return
    for (const citation of cited) {
      const at = part.annotations.push(citation) - 1
      const annotation = `"annotation_index":${at},"annotation":${JSON.stringify(citation)}`
      this.emit('response.output_text.annotation.added', `${place(message)},${annotation}`)
    }
    this.cited = []
  }

  private closePart(): void {
    const { message, part } = this
    if (message === null || part === null) return
    const text = JSON.stringify(part.text)
    if (part.type === 'refusal') this.emit('response.refusal.done', `${place(message)},"refusal":${text}`)
    else this.emit('response.output_text.done', `${place(message)},"text":${text},"logprobs":[]`)
    this.emit('response.content_part.done', `${place(message)},"part":${partJson(part)}`)
    this.part = null
  }

  private closeMessage(status: ItemStatus): void {
    this.closePart()
    if (this.message !== null) this.emitDone(this.message, status)
    this.message = null
  }

  private openThought(): ReasoningItem {
    this.begin()
    this.closeMessage('completed')
    this.closeCall('completed')
    const thought = this.reasoningItem ?? new ReasoningItem(this.ids, this.output.length)
    if (this.reasoningItem === null) this.emitAdded(thought)
    this.reasoningItem = thought
    return thought
  }

  private closeThought(status: ItemStatus): void {
    const { reasoningItem: thought, thoughts } = this
    if (thought === null) return
    if (thought.packed === '' && thoughts !== null) thought.packed = packReasoning(thought.text, thoughts)
    if (thought.text !== '') {
      this.emit('response.reasoning_summary_text.done', `${summary(thought)},"text":${JSON.stringify(thought.text)}`)
      this.emit('response.reasoning_summary_part.done', `${summary(thought)},"part":${summaryJson(thought.text)}`)
    }
    this.emitDone(thought, status)
    this.reasoningItem = null
  }

  private writeArguments(call: CallItem, piece: string): void {
    call.arguments += piece
    if (call.passesPieces) this.emitPiece(call, piece)
  }

  private emitPiece(call: CallItem, piece: string): void {
    this.emit(`${call.event}.delta`, `${item(call)},"delta":${JSON.stringify(piece)}`)
  }

  private closeCall(status: ItemStatus): void {
    const { openCall: call } = this
    if (call === null) return
    if (call.arguments === '') this.writeArguments(call, NO_ARGUMENTS)
    if (call.event !== null) {
      const { members, piece } = call.content
      if (!call.passesPieces) this.emitPiece(call, piece)
      this.emit(`${call.event}.done`, `${item(call)},${members}`)
    }
    this.emitDone(call, this.isCut(call) ? 'incomplete' : status)
    this.openCall = null
  }

  /** Calls that waited for one whose arguments the end of the message has cut come after it. */
  private isCut(call: CallItem): boolean {
    return incompleteReason(this.finish) !== null && parseJsonObject(call.arguments) === null
  }

  /** Closes the item that is open, whichever it is. */
  private closeOpen(status: ItemStatus): void {
    this.closeThought(status)
    this.closeMessage(status)
    this.closeCall(status)
  }

  /** An open item stays open for the client, which gets an error; the response has its output so far. */
  private abandon(): void {
    for (const open of [this.reasoningItem, this.message, this.openCall]) {
      if (open !== null) this.output[open.index] = open.json('incomplete')
    }
  }

  private emitAdded(added: OutputItem): void {
    const json = added.json('in_progress')
    this.output.push(json)
    this.emit('response.output_item.added', `"output_index":${added.index},"item":${json}`)
  }

  private emitDone(closed: OutputItem, status: ItemStatus): void {
    const json = closed.json(status)
    this.output[closed.index] = json
    this.emit('response.output_item.done', `"output_index":${closed.index},"item":${json}`)
  }

  private emitResponse(event: string, progress: ResponseProgress): void {
    this.emit(event, `"response":${responseJson(this.head, progress)}`)
  }

  private emit(type: string, members: string): void {
    this.pending += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.sequence++},${members}}\n\n`
  }

  private flush(): void {
    this.out.appendText(this.pending)
    this.pending = ''
  }
}

function item({ id, index }: OutputItem): string {
  return `"item_id":"${id}","output_index":${index}`
}

function place(message: MessageItem): string {
  return `${item(message)},"content_index":${message.parts.length - 1}`
}

function summary(thought: ReasoningItem): string {
  return `${item(thought)},"summary_index":0`
}
