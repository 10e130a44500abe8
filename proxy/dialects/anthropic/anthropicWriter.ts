import { parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { exactJson } from '../../json/exactJson.ts'
import { NOWHERE } from '../../sse/outBuffer.ts'
import type { ArgumentsText } from '../shared/argumentsText.ts'
import { type ClientTool, clientTool } from '../shared/clientTools.ts'
import { type FinishReason, NO_ARGUMENTS } from '../shared/message.ts'
import { OWN_SIGNATURE } from '../shared/ownReasoning.ts'
import type { PackBound } from '../shared/packed.ts'
import type { StreamTail } from '../shared/relayStream.ts'
import type { ItemWriter } from '../shared/serialWriter.ts'
import { packedBlock, type Thought } from '../shared/thought.ts'
import { anthropicErrorEvent, anthropicEvent, MESSAGE_END } from './anthropicEvents.ts'
import { inputOf } from './anthropicMessages.ts'
import { anthropicUsageJson } from './anthropicUsage.ts'
import { stopReasonOf } from './stopReasons.ts'

const NO_CACHE = '"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0'

const SIGNATURE = { type: 'signature_delta', signature: OWN_SIGNATURE }
const THINKING_DELTA = 'thinking_delta'

/** The block of the message that is open. */
interface Block {
  /** The type of its deltas, and the member of them that holds a piece. */
  readonly delta: string
  readonly member: string
  /** Arguments that have not been sent. */
  held: string
  /** A tool call without any arguments so far. */
  isBare: boolean
  /** Arguments that are no JSON of an object, or may be none where it is absent: they are kept until the call ends. */
  isOdd?: boolean
}

/** Writes a message as the events of a Messages stream, for providers that speak another dialect. */
export class AnthropicWriter implements ItemWriter {
  out = NOWHERE

  private readonly requestId: string
  private readonly publicModel: string
  private readonly promptTokens: number
  private readonly tools: readonly ClientTool[] | undefined
  private readonly packBound: PackBound | null
  private begun = false
  private finish: FinishReason = 'stop'
  private block: Block | null = null
  private index = 0

  /**
   * @param promptTokens what the prompt has by an estimate, since the provider says it at the end
   * @param tools those that the client knows by another name than the provider; absent for none
   * @param packBound of what the client gets to send back; null for a client that does not
   */
  constructor(
    requestId: string,
    publicModel: string,
    promptTokens: number,
    tools?: readonly ClientTool[],
    packBound: PackBound | null = null,
  ) {
    this.packBound = packBound
    this.promptTokens = promptTokens
    this.tools = tools
    this.requestId = requestId
    this.publicModel = publicModel
  }

  text(piece: string): void {
    this.add('text', { type: 'text', text: '' }, 'text_delta', piece)
  }

  reasoning(piece: string): void {
    this.add('thinking', { type: 'thinking', thinking: '', signature: '' }, THINKING_DELTA, piece)
  }

  thoughtEnds(thought: Thought): void {
    const start = this.packBound === null ? null : packedBlock(thought, this.packBound)
    if (start !== null) this.open(start, { delta: '', member: '', held: '', isBare: false })
  }

  refusal(piece: string): void {
    this.text(piece)
  }

  call(id: string, name: string): void {
    const start = { type: 'tool_use', id, name: clientTool(this.tools, name).name, input: {} }
    this.open(start, { delta: 'input_json_delta', member: 'partial_json', held: '', isBare: true })
  }

  callArguments(piece: string, { isObject, isWhole }: ArgumentsText): void {
    const { block } = this
    if (block === null) return
    block.isBare = false
    block.held += piece
    if (block.isOdd === undefined && isObject !== undefined)
      block.isOdd = !isObject || (isWhole && parseJsonObject(block.held) === null)
    if (block.isOdd !== false) return
    this.out.appendText(this.deltaText(block, block.held))
    block.held = ''
  }

  ends(reason: FinishReason): void {
    this.begin()
    this.finish = reason
  }

  tail({ usage, fault, receipt }: StreamTail): string {
    const comment = receipt === '' ? '' : `: receipt ${receipt}\n\n`
    if (fault !== null) return anthropicErrorEvent(fault) + comment
    const delta = { stop_reason: stopReasonOf(this.finish), stop_sequence: null }
    const end = `event: message_delta\ndata: {"type":"message_delta","delta":${JSON.stringify(delta)},"usage":${anthropicUsageJson(usage)}}\n\n`
    return this.startText() + this.closeText() + end + comment + MESSAGE_END
  }

  private add(member: string, start: object, delta: string, piece: string): void {
    const { block } = this
    const open = block?.member === member ? block : this.open(start, { delta, member, held: '', isBare: false })
    if (piece !== '') this.out.appendText(this.deltaText(open, piece))
  }

  private open(start: object, block: Block): Block {
    this.begin()
    const end = this.closeText()
    this.block = block
    this.out.appendText(end + anthropicEvent('content_block_start', { index: this.index, content_block: start }))
    return block
  }

  private begin(): void {
    this.out.appendText(this.startText())
  }

  private startText(): string {
    if (this.begun) return ''
    this.begun = true
    return (
      `event: message_start\ndata: {"type":"message_start","message":{"id":"${this.requestId}","type":"message"` +
      `,"role":"assistant","model":${JSON.stringify(this.publicModel)},"content":[],"stop_reason":null` +
      `,"stop_sequence":null,"usage":{"input_tokens":${this.promptTokens},${NO_CACHE}}}}\n\n`
    )
  }

  private deltaText({ delta, member }: Block, piece: string): string {
    return anthropicEvent('content_block_delta', { index: this.index, delta: { type: delta, [member]: piece } })
  }

  /** The end of the open block; arguments that are no JSON of an object are sent as one. */
  private closeText(): string {
    const { block, index } = this
    if (block === null) return ''
    this.block = null
    this.index++
    const { isBare, held } = block
    const input = isBare ? NO_ARGUMENTS : held === '' ? '' : exactJson(inputOf(held))
    const last = block.delta === THINKING_DELTA ? SIGNATURE : { type: block.delta, [block.member]: input }
    const isOpen = input !== '' || last === SIGNATURE
    const delta = isOpen ? anthropicEvent('content_block_delta', { index, delta: last }) : ''
    return delta + anthropicEvent('content_block_stop', { index })
  }
}
