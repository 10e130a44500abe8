import { parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { exactJson } from '../../json/exactJson.ts'
import { JsonWhole } from '../../json/jsonWhole.ts'
import { NOWHERE } from '../../sse/outBuffer.ts'
import { type ClientTool, clientTool } from '../shared/clientTools.ts'
import { type FinishReason, type MessageWriter, NO_ARGUMENTS } from '../shared/message.ts'
import { OWN_SIGNATURE } from '../shared/ownReasoning.ts'
import type { PackBound } from '../shared/packed.ts'
import type { StreamTail } from '../shared/relayStream.ts'
import { packedBlock, type Thought } from '../shared/thought.ts'
import { anthropicErrorEvent, anthropicEvent, MESSAGE_END } from './anthropicEvents.ts'
import { inputOf } from './anthropicMessages.ts'
import { anthropicUsageJson } from './anthropicUsage.ts'
import { stopReasonOf } from './stopReasons.ts'

const NO_CACHE = '"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0'

const NO_INPUT = { type: 'input_json_delta', partial_json: NO_ARGUMENTS }
const SIGNATURE = { type: 'signature_delta', signature: OWN_SIGNATURE }
const THINKING_DELTA = 'thinking_delta'

/** A block of the message that is not closed. */
interface Block {
  readonly start: object
  /** The type of its deltas, and the member of them that holds a piece. */
  readonly delta: string
  readonly member: string
  /** The number of a tool call, and how much of its arguments has arrived; -1 and null for other blocks. */
  readonly call: number
  readonly input: JsonWhole | null
  /** Output that has not been sent. */
  text: string
  /** A tool call without any arguments so far. */
  isBare?: boolean
  /** Arguments that are no JSON of an object, or may be none where it is absent: they are kept until the call ends. */
  isOdd?: boolean
  /** An opening brace, where arguments have that alone so far. */
  began?: string
}

/** The beginning of an object, and one that more text has to show. */
const OBJECT_START = /^\s*\{\s*["}]/
const MAY_START = /^\s*(?:\{\s*)?$/

/**
 * Writes a message as the events of a Messages stream, for providers that speak another dialect. Blocks are sequential
 * there, while the pieces of a provider's tool calls may be interleaved: then later calls wait until the one that is being
 * written is complete.
 */
export class AnthropicWriter implements MessageWriter {
  out = NOWHERE

  private readonly requestId: string
  private readonly publicModel: string
  private readonly promptTokens: number
  private readonly tools: readonly ClientTool[] | undefined
  private readonly packBound: PackBound | null
  private begun = false
  private finish: FinishReason = 'stop'
  /** Blocks that are not closed; the first one is being written. */
  private readonly blocks: Block[] = []
  private opened = false
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
    if (start !== null) this.push({ start, delta: '', member: '', call: -1, input: null, text: '' })
  }

  refusal(piece: string): void {
    this.text(piece)
  }

  toolCall(index: number, id: string, name: string): void {
    const start = { type: 'tool_use', id, name: clientTool(this.tools, name).name, input: {} }
    const input = new JsonWhole()
    this.push({ start, delta: 'input_json_delta', member: 'partial_json', call: index, input, text: '', isBare: true })
  }

  toolArguments(index: number, piece: string): void {
    const block = this.blocks.find((candidate) => candidate.call === index)
    if (block === undefined) return
    const read = block.input?.push(piece)
    // Nothing that follows the object is sent.
    block.text += block.isOdd === false ? piece.slice(0, read) : piece
    block.isBare = false
    if (block.isOdd === undefined) this.judge(block, (block.began ?? '') + piece)
    this.write()
  }

  /** @param start the first characters of the arguments that are no blanks, and what follows */
  private judge(block: Block, start: string): void {
    if (MAY_START.test(start)) block.began = start.trim()
    else
      block.isOdd = !OBJECT_START.test(start) || (block.input?.whole === true && parseJsonObject(block.text) === null)
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
    return this.startText() + this.restText() + end + comment + MESSAGE_END
  }

  private add(member: string, start: object, delta: string, piece: string): void {
    const last = this.blocks[this.blocks.length - 1]
    if (last?.member === member) {
      last.text += piece
      this.write()
    } else {
      this.push({ start, delta, member, call: -1, input: null, text: piece })
    }
  }

  private push(block: Block): void {
    this.begin()
    this.blocks.push(block)
    this.write()
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

  /** Writes all blocks that can be sent: the arrived part of the first one, and the next ones once it is complete. */
  private write(): void {
    for (;;) {
      const [block, next] = this.blocks
      if (block === undefined) return
      this.out.appendText(this.blockText(block))
      if (next === undefined || block.input?.whole === false) return
      this.out.appendText(this.closeBlock())
    }
  }

  private restText(): string {
    let text = ''
    for (let block = this.blocks[0]; block !== undefined; block = this.blocks[0]) {
      text += this.blockText(block) + this.closeBlock()
    }
    return text
  }

  private blockText(block: Block): string {
    const { index } = this
    let text = ''
    if (!this.opened) text += anthropicEvent('content_block_start', { index, content_block: block.start })
    this.opened = true
    if (block.text === '' || (block.input !== null && block.isOdd !== false)) return text
    const delta = { type: block.delta, [block.member]: block.text }
    block.text = ''
    return text + anthropicEvent('content_block_delta', { index, delta })
  }

  /** Arguments that are no JSON of an object, as one. */
  private oddInput(block: Block | undefined, index: number): string {
    if (block === undefined || block.input === null || block.text === '') return ''
    const delta = { type: 'input_json_delta', partial_json: exactJson(inputOf(block.text)) }
    return anthropicEvent('content_block_delta', { index, delta })
  }

  private closeBlock(): string {
    const block = this.blocks.shift()
    this.opened = false
    const index = this.index++
    const last = block?.isBare === true ? NO_INPUT : block?.delta === THINKING_DELTA ? SIGNATURE : null
    const ending = last === null ? '' : anthropicEvent('content_block_delta', { index, delta: last })
    return ending + this.oddInput(block, index) + anthropicEvent('content_block_stop', { index })
  }
}
