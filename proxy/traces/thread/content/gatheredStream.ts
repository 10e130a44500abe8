import { callPieces } from '../../../../contract/api/callPiece.ts'
import { choicesOf } from '../../../../contract/api/completion.ts'
import { saidIn } from '../../../../contract/api/saidText.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../../contract/std/jsonObject.ts'
import { FrameReader, type FrameSink } from '../../../sse/frameReader.ts'

interface OpenChoice {
  text: string
  refusal: string
  hasThought: boolean
  /** The other members of its message. */
  more: JsonObject
  readonly calls: Map<number, { id: string; name: string; text: string }>
  reason: unknown
}

/** A block of a message, or an item of a response. */
interface OpenBlock {
  readonly block: JsonObject
  text: string
  input: string
  isWhole: boolean
}

const ASIDES = ['audio', 'images']
const UNBOUND = Number.POSITIVE_INFINITY

/** Gathers the events of a client's stream, in any of the formats, into an answer in one piece; a stream that was cut gives what it has. */
export class GatheredStream implements FrameSink {
  private readonly choices = new Map<unknown, OpenChoice>()
  private readonly blocks = new Map<unknown, OpenBlock>()
  private stopReason: unknown = null
  private response: JsonObject | undefined
  private isResponse = false

  static read(bytes: Buffer): JsonObject {
    const stream = new GatheredStream()
    const frames = new FrameReader({
      eventBytesMax: bytes.length,
      jsonDepthMax: UNBOUND,
      answerMembersMax: UNBOUND,
      answerElementsMax: UNBOUND,
      answerParsedBytesMax: UNBOUND,
    })
    frames.push(bytes, stream)
    return stream.answer
  }

  onData(bytes: Buffer, start: number, end: number): void {
    const event = parseJsonObject(bytes.toString('utf8', start, end))
    if (event === null) return
    for (const choice of choicesOf(event)) this.takeChoice(choice)
    const { type } = event
    if (typeof type !== 'string') return
    if (type.startsWith('response.')) this.takeOfResponse(type, event)
    else this.takeOfMessage(type, event)
  }

  onComment(): void {}

  private get answer(): JsonObject {
    if (this.choices.size > 0) return { choices: [...this.choices.values()].map(choiceOf) }
    const blocks = [...this.blocks.values()].map(this.isResponse ? itemOf : blockOf)
    if (this.isResponse) return this.response ?? { output: blocks }
    return blocks.length === 0 ? {} : { content: blocks, stop_reason: this.stopReason }
  }

  private takeChoice({ index, delta, text, finish_reason: reason }: JsonObject): void {
    const open = this.choices.get(index) ?? newChoice()
    this.choices.set(index, open)
    open.reason = reason ?? open.reason
    if (typeof text === 'string') open.text += text
    if (!isJsonObject(delta)) return
    const said = saidIn(delta)
    open.text += said.text
    open.refusal += said.refusal
    open.hasThought ||= said.reasoning !== ''
    for (const name of ASIDES) if (name in delta) open.more = { ...open.more, [name]: delta[name] }
    for (const piece of callPieces(delta)) {
      const number = piece.index ?? 0
      const call = open.calls.get(number) ?? { id: '', name: '', text: '' }
      open.calls.set(number, call)
      call.id ||= piece.id
      call.name ||= piece.name
      call.text += piece.arguments
    }
  }

  private takeOfMessage(type: string, { index, content_block: block, delta }: JsonObject): void {
    if (type === 'content_block_start' && isJsonObject(block)) this.blocks.set(index, newBlock(block))
    if (!isJsonObject(delta)) return
    if (type === 'message_delta') this.stopReason = delta['stop_reason'] ?? this.stopReason
    const open = this.blocks.get(index)
    if (open === undefined) return
    open.text += textIn(delta['text'])
    open.input += textIn(delta['partial_json'])
  }

  private takeOfResponse(type: string, { output_index: index, item, delta, response }: JsonObject): void {
    this.isResponse = true
    // The last event has all of them again.
    if (/\.(completed|incomplete|failed)$/.test(type) && isJsonObject(response)) this.response = response
    const isWhole = type === 'response.output_item.done'
    if ((isWhole || type === 'response.output_item.added') && isJsonObject(item)) {
      this.blocks.set(index, { ...newBlock(item), isWhole })
    }
    const open = this.blocks.get(index)
    if (open === undefined) return
    if (/\.(output_text|refusal)\.delta$/.test(type)) open.text += textIn(delta)
    if (/_call_(arguments|input)\.delta$/.test(type)) open.input += textIn(delta)
  }
}

function newChoice(): OpenChoice {
  return { text: '', refusal: '', hasThought: false, more: {}, calls: new Map(), reason: null }
}

function newBlock(block: JsonObject): OpenBlock {
  return { block, text: textIn(block['text']), input: '', isWhole: false }
}

function choiceOf({ text: content, refusal, hasThought, more, calls, reason }: OpenChoice): JsonObject {
  const tool_calls = [...calls.values()].map(({ id, name, text }) => ({ id, function: { name, arguments: text } }))
  // Of a thought nobody reads more than that there was one.
  const reasoning = hasThought ? [{}] : null
  return { message: { ...more, content, refusal, reasoning, tool_calls }, finish_reason: reason }
}

function blockOf({ block, text, input }: OpenBlock): JsonObject {
  return { ...block, ...(text !== '' && { text }), ...(input !== '' && { input }) }
}

function itemOf({ block, text, input, isWhole }: OpenBlock): JsonObject {
  if (isWhole) return block
  return { ...block, content: text, ...(input !== '' && { arguments: input }) }
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
