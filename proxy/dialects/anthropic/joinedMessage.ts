import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { dataKind, dataParts } from '../../sse/dataKind.ts'
import { FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import type { AnswerContext } from '../shared/codec.ts'
import { EventRepair, usageIn } from './eventRepair.ts'

/** The member of a delta that has a piece, and of the block that it is added to, by the type of the delta. */
const PIECES: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'signature'],
])

interface OpenBlock {
  readonly block: JsonObject
  /** JSON of a call's input, as it comes. */
  input: string
}

/** Joins the events of a stream to the Messages answer that they are pieces of, for a provider that was asked for none. */
export class JoinedMessage implements FrameSink {
  private message: JsonObject | null = null
  private readonly blocks = new Map<unknown, OpenBlock>()
  private readonly repair: EventRepair
  private ending: JsonObject = {}
  private usage: JsonObject = {}
  private error: unknown = null
  private ended = false
  private broken = false

  /** @param requestId for the ids of calls that have none */
  constructor(requestId: string) {
    this.repair = new EventRepair(requestId)
  }

  /** @returns an error of the provider as `error`; null when the bytes are no stream that ended well */
  read(bytes: Buffer, limits: AnswerContext['limits']): JsonObject | null {
    const frames = new FrameReader(limits)
    const isWithin = frames.push(bytes, this)
    if (isWithin) frames.finish(this)
    if (this.error !== null) return { error: this.error }
    const isWhole = this.message !== null && (this.ended || typeof this.ending['stop_reason'] === 'string')
    if (!isWithin || this.broken || !isWhole) return null
    return { ...this.message, ...this.ending, content: [...this.blocks.values()].map(blockOf), usage: this.usage }
  }

  onData(bytes: Buffer, start: number, end: number, lines: number): void {
    for (const [from, to] of dataParts(bytes, start, end, lines)) this.readData(bytes, from, to)
  }

  onComment(): void {}

  private readData(bytes: Buffer, start: number, end: number): void {
    if (this.ended || this.broken || this.error !== null) return
    const kind = dataKind(bytes, start, end)
    const event = kind === 'object' ? parseJsonObject(bytes.toString('utf8', start, end)) : null
    if (event !== null) this.readEvent(event)
    else if (kind === 'end') this.close()
    else if (kind !== 'nothing') this.broken ||= typeof this.ending['stop_reason'] !== 'string'
  }

  private readEvent(event: JsonObject): void {
    this.takeUsage(usageIn(event))
    if (event['type'] === 'message_stop') return this.close()
    const { repair } = this
    for (const part of repair.read(event) ?? [event]) this.take(part)
    if (repair.broken) this.error = repair.error ?? 'the stream failed'
  }

  private close(): void {
    for (const part of this.repair.end()) this.take(part)
    this.ended = true
  }

  private take({ type, index, message, delta, content_block: block }: JsonObject): void {
    if (type === 'message_start' && isJsonObject(message)) this.message = message
    else if (type === 'content_block_start' && isJsonObject(block)) this.blocks.set(index, { block, input: '' })
    else if (type === 'content_block_delta' && isJsonObject(delta)) this.takeDelta(this.blocks.get(index), delta)
    else if (type === 'message_delta' && isJsonObject(delta)) this.ending = { ...this.ending, ...delta }
  }

  private takeDelta(open: OpenBlock | undefined, delta: JsonObject): void {
    if (open === undefined) return
    const { block } = open
    if (typeof delta['partial_json'] === 'string') open.input += delta['partial_json']
    const member = PIECES.get(delta['type'])
    if (member === undefined) return
    const added = delta[member]
    if (typeof added === 'string') block[member] = (typeof block[member] === 'string' ? block[member] : '') + added
  }

  // Counts only grow, and a later report may have the output alone.
  private takeUsage(usage: unknown): void {
    if (!isJsonObject(usage)) return
    for (const [name, value] of Object.entries(usage)) {
      const known = this.usage[name]
      if (value === null || (value === 0 && typeof known === 'number')) continue
      this.usage[name] = value
    }
  }
}

function blockOf({ block, input }: OpenBlock): JsonObject {
  return input === '' ? block : { ...block, input }
}
