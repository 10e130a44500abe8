import { answerError } from '../../../contract/api/answerError.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven } from '../../json/fields.ts'
import { CallIds, inputText, isCall, isNamed, withText } from './callBlocks.ts'
import { statedStop, unstatedStop } from './stopReasons.ts'

/** A block that has begun and not ended. */
interface OpenBlock {
  /** Its place in the message. */
  readonly index: number
  readonly kind: unknown
  /** JSON of a call's input that came with its beginning, in place of deltas. */
  held: string
}

const NO_COUNTS = { input_tokens: 0, output_tokens: 0 }
/** The kinds of blocks with words of the model. */
const WORDS: ReadonlySet<unknown> = new Set(['text', 'thinking'])
/** The type of a delta by its member, for one that states none, and the block that it is a piece of. */
const DELTAS: readonly (readonly [member: string, type: string, block: JsonObject | null])[] = [
  ['text', 'text_delta', { type: 'text', text: '' }],
  ['thinking', 'thinking_delta', { type: 'thinking', thinking: '', signature: '' }],
  ['partial_json', 'input_json_delta', null],
]

/**
 * Puts the events of a stream of the Anthropic dialect into the form that the format's documentation has, whatever its
 * provider makes of it: the one set of rules for the clients of all formats. Every message has a beginning, every block a
 * place of its own, a beginning and an end, every call an id and its input in deltas, and every message a known reason.
 */
export class EventRepair {
  /** The provider reports a failure, or a call that nobody can make. */
  broken = false
  /** Of a failure, if the provider states it. */
  error: unknown = null
  private readonly ids: CallIds
  /** By the provider's number, or its place where it has none. */
  private readonly open = new Map<unknown, OpenBlock>()
  private newest: unknown
  private begun = 0
  private hasStart = false
  private hasReason = false
  /** The provider's numbers are the places, and no input is held: deltas are as they should be. */
  private isSound = true
  /** The report of the last message_delta. */
  private counts: JsonObject | null = null

  /** @param requestId for the ids of calls that have none */
  constructor(requestId: string) {
    this.ids = new CallIds(requestId)
  }

  /** Whether an event with a delta of this type can be passed on without being read. */
  passesDelta(type: string | undefined): boolean {
    if (!this.isSound || this.open.size === 0) return false
    const kind = this.openAt(undefined)?.kind
    return !WORDS.has(kind) || kind === type
  }

  /**
   * Reads the next event before message_stop; look at `broken` afterwards.
   * @returns the events that replace it; null where it stays as it is
   */
  read(event: JsonObject): readonly JsonObject[] | null {
    const events = this.replaced(event)
    const isPart = this.begun > 0 || event['type'] === 'message_delta'
    if (this.hasStart || !isPart) return events
    this.hasStart = true
    return [startOf({}), ...(events ?? [event])]
  }

  /** The message has ended, or its provider says so: what is missing of it. */
  end(): readonly JsonObject[] {
    const closed = this.closeAll()
    if (this.hasReason || this.begun === 0) return closed
    this.hasReason = true
    const delta = { stop_reason: unstatedStop(this.ids.count), stop_sequence: null }
    return [...closed, { type: 'message_delta', delta, usage: this.counts ?? { output_tokens: 0 } }]
  }

  private replaced(event: JsonObject): readonly JsonObject[] | null {
    switch (event['type']) {
      case 'message_start':
        return this.start(event)
      case 'content_block_start':
        return this.begin(event, objectOf(event['content_block']))
      case 'content_block_delta':
        return this.piece(event, typedDelta(objectOf(event['delta'])))
      case 'content_block_stop':
        return this.stop(event)
      case 'message_delta':
        return this.reason(event, objectOf(event['delta']))
      default:
        this.error = answerError(event)
        this.broken = this.error !== null
        return null
    }
  }

  private start(event: JsonObject): readonly JsonObject[] | null {
    if (this.hasStart) return []
    this.hasStart = true
    const message = objectOf(event['message'])
    const { content, usage } = message
    const isSound = Array.isArray(content) && content.length === 0 && isJsonObject(usage)
    return isSound && hasSequence(message) ? null : [startOf(message)]
  }

  private begin(event: JsonObject, block: JsonObject): readonly JsonObject[] | null {
    const index = this.begun++
    const given = event['index'] ?? index
    const before = this.close(given)
    const open: OpenBlock = { index, kind: block['type'], held: isCall(block) ? inputText(block['input']) : '' }
    this.open.set(given, open)
    this.newest = given
    const written = isCall(block) ? { ...block, id: this.ids.next(block['id']), input: {} } : withText(block)
    if (isCall(block) && !isNamed(block)) this.broken = true
    if (event['index'] !== index || open.held !== '') this.isSound = false
    const isWhole =
      written === block ||
      (isCall(block) && open.held === '' && isJsonObject(block['input']) && written['id'] === block['id'])
    return isWhole && before.length === 0 && event['index'] === index
      ? null
      : [...before, { type: 'content_block_start', index, content_block: written }]
  }

  private piece(event: JsonObject, delta: JsonObject): readonly JsonObject[] | null {
    const kind = DELTAS.find(([, type]) => type === delta['type'])
    // Packages add null to the text as a word.
    if (kind === undefined ? DELTAS.some(([member]) => delta[member] === null) : delta[kind[0]] === null) return []
    const open = this.openAt(event['index'])
    if (open !== undefined && !isOfOther(open, kind, delta)) {
      if (typeof delta['partial_json'] === 'string' && delta['partial_json'] !== '') open.held = ''
      const isSame = event['index'] === open.index && delta === event['delta']
      return isSame ? null : [deltaOf(open.index, delta)]
    }
    if (open !== undefined && kind !== undefined && delta[kind[0]] === '') return []
    // Nobody knows which tool it calls.
    if (kind?.[2] === null) this.broken = true
    if (kind === undefined || kind[2] === null) return []
    const before = open === undefined ? [] : this.close(event['index'] ?? this.newest)
    const index = this.begun
    // Readers gather the text in the block.
    const block = { type: 'content_block_start', index, content_block: { ...kind[2] } }
    this.begin({ ...block, index: event['index'] }, block.content_block)
    return [...before, block, deltaOf(index, delta)]
  }

  private stop(event: JsonObject): readonly JsonObject[] | null {
    const closed = this.close(event['index'] ?? this.newest)
    return closed.length === 1 && closed[0]?.['index'] === event['index'] ? null : closed
  }

  private reason(event: JsonObject, delta: JsonObject): readonly JsonObject[] | null {
    const given = delta['stop_reason']
    // Without a reason it reports usage alone, and the message goes on.
    const closed = isGiven(given) ? this.closeAll() : []
    const reason = statedStop(given, this.ids.count)
    if (reason === 'error') {
      this.error = event['error'] ?? null
      this.broken = true
      return closed
    }
    if (reason !== null) this.hasReason = true
    const { usage } = event
    if (isJsonObject(usage)) this.counts = usage
    const isStated = isJsonObject(usage) && hasSequence(delta) && delta === event['delta']
    if (isStated && closed.length === 0 && (given ?? null) === reason) return null
    const stated = { ...event, delta: { stop_sequence: null, ...delta, stop_reason: reason } }
    return [...closed, { ...stated, usage: isJsonObject(usage) ? usage : (this.counts ?? { output_tokens: 0 }) }]
  }

  private openAt(index: unknown): OpenBlock | undefined {
    return this.open.get(index ?? this.newest)
  }

  /** Ends the block at the provider's number, if one is open. */
  private close(given: unknown): JsonObject[] {
    const open = this.open.get(given)
    if (open === undefined) return []
    this.open.delete(given)
    const { index, held } = open
    const stop = { type: 'content_block_stop', index }
    return held === '' ? [stop] : [deltaOf(index, { type: 'input_json_delta', partial_json: held }), stop]
  }

  private closeAll(): JsonObject[] {
    return [...this.open.keys()].flatMap((given) => this.close(given))
  }
}

/** Whether a delta is none of its block's kind, which packages refuse or lose. */
function isOfOther(open: OpenBlock, kind: (typeof DELTAS)[number] | undefined, delta: JsonObject): boolean {
  if (kind === undefined || !WORDS.has(open.kind) || open.kind === kind[2]?.['type']) return false
  return kind[2] === null ? delta[kind[0]] === '' : typeof delta[kind[0]] === 'string'
}

/** Typed clients demand the member, also where no stop sequence was met. */
function hasSequence(value: JsonObject): boolean {
  return value['stop_sequence'] !== undefined
}

/** The usage that an event of the format reports, wherever it does; undefined for none. */
export function usageIn({ type, usage, message, delta }: JsonObject): unknown {
  if (typeof type !== 'string') return undefined
  return [usage, objectOf(message)['usage'], objectOf(delta)['usage']].find(isJsonObject)
}

function startOf(message: JsonObject): JsonObject {
  const usage = isJsonObject(message['usage']) ? message['usage'] : NO_COUNTS
  const head = { type: 'message', role: 'assistant', stop_reason: null, stop_sequence: null }
  return { type: 'message_start', message: { ...head, ...message, content: [], usage } }
}

function deltaOf(index: number, delta: JsonObject): JsonObject {
  return { type: 'content_block_delta', index, delta }
}

/** The same object where it has a type. */
function typedDelta(delta: JsonObject): JsonObject {
  if (typeof delta['type'] === 'string') return delta
  const kind = DELTAS.find(([member]) => typeof delta[member] === 'string')
  return kind === undefined ? delta : { ...delta, type: kind[1] }
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}
