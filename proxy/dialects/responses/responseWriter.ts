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
import { CitedText } from './citedText.ts'
import { responseErrorEvent } from './errorEvent.ts'
import { itemPlace, partPlace, ResponseEvents, summaryPlace } from './responseEvents.ts'
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
import { BEGUN, incompleteReason, type ResponseHead } from './responseObject.ts'

/**
 * Writes a message as the events of a response, numbered without a gap. Text, thoughts and calls become output items, each
 * of which is done before the next one is added: clients keep the one that they have got last.
 */
export class ResponseWriter implements ItemWriter {
  out: OutBuffer = NOWHERE

  private readonly events: ResponseEvents
  private readonly ids: ItemIds
  private readonly tools: readonly ClientTool[] | undefined
  private readonly thoughts: PackBound | null
  /** Absent for a client that sends no thinking back. */
  readonly thoughtEnds?: (thought: Thought) => void
  private finish: FinishReason = 'stop'
  private reasoningItem: ReasoningItem | null = null
  private message: MessageItem | null = null
  private part: Part | null = null
  private openCall: CallItem | null = null
  /** Whether the client has the beginning of the open call. */
  private isCallShown = false
  private readonly cited: CitedText

  /**
   * @param tools those that the client knows otherwise than the provider; absent for none
   * @param thoughts the bound of what the client gets to send thinking back; null for a client that does not
   */
  constructor(head: ResponseHead, tools?: readonly ClientTool[], thoughts: PackBound | null = null) {
    this.events = new ResponseEvents(head)
    this.cited = new CitedText(this.events)
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
    this.cited.add(citation, this.part)
    this.flush()
  }

  reasoning(piece: string): void {
    const thought = this.openThought()
    if (thought.text === '')
      this.events.emit('response.reasoning_summary_part.added', `${summaryPlace(thought)},"part":${summaryJson('')}`)
    thought.text += piece
    this.events.emit(
      'response.reasoning_summary_text.delta',
      `${summaryPlace(thought)},"delta":${JSON.stringify(piece)}`,
    )
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
    this.openCall = new CallItem(this.ids, this.events.output.length, id, clientTool(this.tools, name))
    this.isCallShown = false
    if (this.openCall.isBegun) this.showCall()
    this.flush()
  }

  callArguments(piece: string): void {
    const { openCall: call } = this
    if (call === null) return
    this.writeArguments(call, piece)
    if (!this.isCallShown && call.isBegun) this.showCall()
    this.flush()
  }

  /** Writes an item that the client gets in one piece. @param make gets the place in the output */
  whole(make: (ids: ItemIds, index: number) => OutputItem): void {
    this.begin()
    this.closeOpen('completed')
    const item = make(this.ids, this.events.output.length)
    this.events.added(item)
    this.events.done(item, 'completed')
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
      this.cited.end(this.message)
      const reason = incompleteReason(this.finish)
      const status = reason === null ? 'completed' : 'incomplete'
      this.closeOpen(status)
      this.events.response(`response.${status}`, {
        ...BEGUN,
        status,
        output: this.events.output,
        usage,
        reason,
        receipt,
      })
    } else {
      this.abandon()
      this.events.append((sequence) => responseErrorEvent(fault, sequence))
      this.events.response('response.failed', {
        ...BEGUN,
        status: 'failed',
        output: this.events.output,
        usage,
        error: fault,
        receipt,
      })
    }
    return this.events.take() + (receipt === '' ? '' : `: receipt ${receipt}\n\n`) + STREAM_END
  }

  private begin(): void {
    if (this.events.begun) return
    this.events.response('response.created', BEGUN)
    this.events.response('response.in_progress', BEGUN)
  }

  private say(type: PartType, event: string, piece: string, more: string): void {
    this.begin()
    this.closeThought('completed')
    this.closeCall('completed')
    const { message, part } = this.partOf(type)
    part.text += piece
    this.events.emit(event, `${partPlace(message)},"delta":${JSON.stringify(piece)}${more}`)
    if (type === 'output_text') this.cited.annotate()
    this.flush()
  }

  /** The open part of this type, which a part of another type ends. */
  private partOf(type: PartType): { message: MessageItem; part: Part } {
    let { message, part } = this
    if (message === null) {
      message = new MessageItem(this.ids, this.events.output.length)
      this.message = message
      this.events.added(message)
    }
    if (part === null || part.type !== type) {
      this.closePart()
      part = { type, text: '', annotations: [] }
      this.part = part
      message.parts.push(part)
      if (type === 'output_text') this.cited.begin(message, part)
      this.events.emit('response.content_part.added', `${partPlace(message)},"part":${partJson(part)}`)
    }
    return { message, part }
  }

  private closePart(): void {
    const { message, part } = this
    if (message === null || part === null) return
    const text = JSON.stringify(part.text)
    if (part.type === 'refusal') this.events.emit('response.refusal.done', `${partPlace(message)},"refusal":${text}`)
    else this.events.emit('response.output_text.done', `${partPlace(message)},"text":${text},"logprobs":[]`)
    this.events.emit('response.content_part.done', `${partPlace(message)},"part":${partJson(part)}`)
    this.part = null
  }

  private closeMessage(status: ItemStatus): void {
    this.closePart()
    if (this.message !== null) this.events.done(this.message, status)
    this.message = null
  }

  private openThought(): ReasoningItem {
    this.begin()
    this.closeMessage('completed')
    this.closeCall('completed')
    const thought = this.reasoningItem ?? new ReasoningItem(this.ids, this.events.output.length)
    if (this.reasoningItem === null) this.events.added(thought)
    this.reasoningItem = thought
    return thought
  }

  private closeThought(status: ItemStatus): void {
    const { reasoningItem: thought, thoughts } = this
    if (thought === null) return
    if (thought.packed === '' && thoughts !== null) thought.packed = packReasoning(thought.text, thoughts)
    if (thought.text !== '') {
      this.events.emit(
        'response.reasoning_summary_text.done',
        `${summaryPlace(thought)},"text":${JSON.stringify(thought.text)}`,
      )
      this.events.emit(
        'response.reasoning_summary_part.done',
        `${summaryPlace(thought)},"part":${summaryJson(thought.text)}`,
      )
    }
    this.events.done(thought, status)
    this.reasoningItem = null
  }

  private writeArguments(call: CallItem, piece: string): void {
    call.arguments += piece
    if (call.passesPieces) this.emitPiece(call, piece)
  }

  private showCall(): void {
    if (this.openCall !== null && !this.isCallShown) this.events.added(this.openCall)
    this.isCallShown = true
  }

  private emitPiece(call: CallItem, piece: string): void {
    this.events.emit(`${call.event}.delta`, `${itemPlace(call)},"delta":${JSON.stringify(piece)}`)
  }

  private closeCall(status: ItemStatus): void {
    const { openCall: call } = this
    if (call === null) return
    this.showCall()
    if (call.arguments === '') this.writeArguments(call, NO_ARGUMENTS)
    if (call.event !== null) {
      const { members, piece } = call.content
      if (!call.passesPieces) this.emitPiece(call, piece)
      this.events.emit(`${call.event}.done`, `${itemPlace(call)},${members}`)
    }
    this.events.done(call, this.isCut(call) ? 'incomplete' : status)
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
    this.showCall()
    for (const open of [this.reasoningItem, this.message, this.openCall]) {
      if (open !== null) this.events.output[open.index] = open.json('incomplete')
    }
  }

  private flush(): void {
    this.events.flush(this.out)
  }
}
