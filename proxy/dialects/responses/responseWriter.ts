import type { GatewayError } from '../../../contract/errors/errors.ts'
import { NOWHERE, type OutBuffer } from '../../sse/outBuffer.ts'
import { STREAM_END } from '../openai/ownChunks.ts'
import { type ClientTool, clientTool } from '../shared/clientTools.ts'
import { type FinishReason, type MessageWriter, NO_ARGUMENTS } from '../shared/message.ts'
import { packReasoning } from '../shared/ownReasoning.ts'
import type { PackBound } from '../shared/packed.ts'
import type { StreamTail } from '../shared/relayStream.ts'
import { packThought, type Thought } from '../shared/thought.ts'
import { CallItem } from './callItem.ts'
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
import { incompleteReason, type ResponseHead, type ResponseProgress, responseJson } from './responseObject.ts'

const BEGUN: ResponseProgress = {
  status: 'in_progress',
  output: [],
  usage: null,
  error: null,
  reason: null,
  receipt: '',
}

/**
 * The event that reports a fault to a client. Clients look in different places: some want the members at the top, as OpenAI
 * documents them, others below `error`, as OpenAI sends them and Open Responses has it.
 */
export function responseErrorEvent(fault: GatewayError, sequence: number): string {
  const { message, type, code, param } = fault
  const members = { type: 'error', sequence_number: sequence, code, message, param }
  return `event: error\ndata: ${JSON.stringify({ ...members, error: { type, code, message, param } })}\n\n`
}

/**
 * Writes a message as the events of a response, numbered without a gap. Text, thoughts and calls become output items in
 * the order they begin. Calls stay open to the end, because providers may write the arguments of several at a time.
 */
export class ResponseWriter implements MessageWriter {
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
  private readonly calls = new Map<number, CallItem>()

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

  toolCall(index: number, id: string, name: string): void {
    this.begin()
    this.closeThought('completed')
    this.closeMessage('completed')
    const call = new CallItem(this.ids, this.output.length, id, clientTool(this.tools, name))
    this.calls.set(index, call)
    this.emitAdded(call)
    this.flush()
  }

  toolArguments(index: number, piece: string): void {
    const call = this.calls.get(index)
    if (call === undefined) return
    this.writeArguments(call, piece)
    this.flush()
  }

  /** Writes an item that the client gets in one piece. @param make gets the place in the output */
  whole(make: (ids: ItemIds, index: number) => OutputItem): void {
    this.begin()
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
      this.closeAll()
      const reason = incompleteReason(this.finish)
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
    const { message, part } = this.partOf(type)
    part.text += piece
    this.emit(event, `${place(message)},"delta":${JSON.stringify(piece)}${more}`)
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
      part = { type, text: '' }
      this.part = part
      message.parts.push(part)
      this.emit('response.content_part.added', `${place(message)},"part":${partJson(part)}`)
    }
    return { message, part }
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

  private closeCall(call: CallItem, status: ItemStatus): void {
    if (call.arguments === '') this.writeArguments(call, NO_ARGUMENTS)
    if (call.event !== null) {
      const { members, piece } = call.content
      if (!call.passesPieces) this.emitPiece(call, piece)
      this.emit(`${call.event}.done`, `${item(call)},${members}`)
    }
    this.emitDone(call, status)
  }

  /** Closes all open items; when the message ended early, the newest item is incomplete. */
  private closeAll(): void {
    const last = this.output.length - 1
    const cutShort = incompleteReason(this.finish) !== null
    const statusOf = (index: number): ItemStatus => (cutShort && index === last ? 'incomplete' : 'completed')
    if (this.reasoningItem !== null) this.closeThought(statusOf(this.reasoningItem.index))
    if (this.message !== null) this.closeMessage(statusOf(this.message.index))
    for (const call of this.calls.values()) this.closeCall(call, statusOf(call.index))
    this.calls.clear()
  }

  /** Open items stay open for the client, which gets an error; the response has their output so far. */
  private abandon(): void {
    for (const open of [this.reasoningItem, this.message, ...this.calls.values()]) {
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
