import { type CallPiece, lacksArguments, madeCallId, saysNothing } from '../../../contract/api/callPiece.ts'
import { type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { JsonWhole } from '../../json/jsonWhole.ts'
import { parseBytes } from '../../sse/sseText.ts'
import type { CallBounds } from '../limits.ts'
import type { MessageSink } from '../shared/message.ts'
import { type Growing, newArguments, noteArguments, repeatsArguments } from './growingArguments.ts'

/** Arguments that say nothing; where more follows, they were only the beginning that some providers make. */
const EMPTY = '{}'

/** A tool call of the stream. */
interface Call extends Growing {
  /** The id that the provider gave last, by which its pieces are distinguished from those of others. */
  id: string
  name: string
  /** The place in the message, once the client knows of the call; -1 before. */
  number: number
  /** Arguments that the client has not got. */
  held: string
  /** The arguments so far; `whole` once they are a JSON object that has ended. */
  readonly text: JsonWhole
  hasArguments: boolean
  /** The arguments came as an object, so that no more will. */
  hasObject: boolean
  /** The chunk that brought its last piece. */
  chunk: number
  /** The arguments if they came in one piece. */
  only: string
  extra: JsonObject | null
  /** The client got arguments that were not read, so that nobody knows whether they are whole. */
  isUnread: boolean
}

/** Takes the calls. */
type CallSink = Pick<MessageSink, 'toolCall' | 'toolArguments'>

/**
 * Distinguishes the tool calls of a stream of the OpenAI dialect: by index, by id or, where a provider gives neither or the
 * same for all, by a new name or a new object of arguments. Calls are passed on in their order,
 * each when it has its id and its name is complete, which the first of its arguments, another call or the end shows. Those
 * that have no id at the end get one.
 */
export class CallReader {
  private readonly requestId: string
  private readonly callsMax: number
  private readonly calls: Call[] = []
  private readonly byIndex = new Map<number, Call>()
  private readonly byId = new Map<string, Call>()
  private readonly sentIds = new Set<string>()
  private sent = 0
  private chunk = 0

  /** @param requestId for the ids of calls that have none */
  constructor(requestId: string, { toolCallsMax }: CallBounds) {
    this.requestId = requestId
    this.callsMax = toolCallsMax
  }

  /** How many calls have begun. */
  get begun(): number {
    return this.calls.length
  }

  /** How many calls have been passed on. */
  get count(): number {
    return this.sent
  }

  /**
   * Reads the calls of one chunk.
   * @returns false when the stream has more calls than a message may have
   */
  take(pieces: readonly CallPiece[], sink: CallSink): boolean {
    this.chunk++
    for (const piece of pieces) {
      let call = this.callOf(piece)
      if (call === undefined) {
        if (saysNothing(piece)) continue
        if (this.calls.length >= this.callsMax) return false
        // One that the same chunk has a piece of may continue in parallel to the new one.
        this.sendReady(sink, (earlier) => hasHead(earlier) && earlier.chunk !== this.chunk, false)
        call = this.begin(piece)
      }
      this.add(call, piece)
      this.sendReady(sink, hasBegun, true)
    }
    return true
  }

  /**
   * The message has ended, or its calls have: passes on those that are still held.
   * @param mayGoOn empty arguments are left out, because more may follow
   * @returns false when a call has no name, so that nobody can run it
   */
  close(sink: CallSink, mayGoOn: boolean): boolean {
    const nameless = this.calls.some((call) => call.name === '' && (call.id !== '' || call.hasArguments))
    this.sendReady(sink, hasName, mayGoOn)
    if (mayGoOn) return !nameless
    for (const call of this.calls) {
      // A tool without parameters: its call needs arguments that are JSON.
      if (call.number >= 0 && !call.hasArguments) sink.toolArguments(call.number, EMPTY)
      call.hasArguments = true
    }
    return !nameless
  }

  /** Whether the end of the stream would pass on more. */
  get isPending(): boolean {
    return this.calls.some((call) => call.number < 0 || !call.hasArguments || call.held !== '')
  }

  /** Takes over a call whose chunk the client gets as it is. @returns false when another call has its id */
  adopt(index: number, id: string, name: string, isSent: boolean): boolean {
    if (this.byId.has(id) || this.calls.length >= this.callsMax) return false
    const call = this.begin({ index, id, name, arguments: '', isWhole: false, extra: null })
    call.name = name
    if (isSent) this.adoptSent()
    return true
  }

  /** The client has got the call that was adopted last. */
  adoptSent(): void {
    const call = this.calls.at(-1)
    if (call === undefined || call.number >= 0) return
    call.number = this.sent++
    this.sentIds.add(call.id)
  }

  /**
   * The client gets a piece of arguments as it is, the JSON text at [start, end).
   * @returns false for one that has to be read, because it repeats those before it, or follows the end
   */
  adoptArguments(index: number, bytes: Buffer, start: number, end: number): boolean {
    const call = this.byIndex.get(index)
    if (call === undefined) return true
    if (call.isGrowing || (call.text.whole && !call.isUnread)) return false
    if (call.soFar === null) call.isUnread = true
    else {
      const text = String(parseBytes(bytes, start, end))
      if (repeatsArguments(call, text)) return false
      noteArguments(call, text)
      call.text.push(text)
      call.only = call.hasArguments ? '' : text
    }
    call.hasArguments = true
    if (holdsNothing(call)) call.held = ''
    return true
  }

  private begin({ index, id }: CallPiece): Call {
    const text = new JsonWhole()
    const none = {
      name: '',
      number: -1,
      held: '',
      only: '',
      hasArguments: false,
      hasObject: false,
      extra: null,
      isUnread: false,
      soFar: '',
      isGrowing: false,
    }
    const call: Call = { ...none, id, text, chunk: this.chunk }
    this.calls.push(call)
    if (index !== null) this.byIndex.set(index, call)
    if (id !== '') this.byId.set(id, call)
    return call
  }

  /** Whether the client has got arguments of a call as they were. */
  hasArgumentsAt(index: number): boolean {
    return this.byIndex.get(index)?.hasArguments === true
  }

  /** The call that a piece belongs to; undefined when it begins another. */
  private callOf(piece: CallPiece): Call | undefined {
    const { index, id, name } = piece
    const atIndex = index === null ? this.calls.at(-1) : this.byIndex.get(index)
    const ofId = id === '' ? undefined : this.byId.get(id)
    // An index that was not seen begins a call, but for one that counts the pieces: those have the id and no name.
    if (atIndex === undefined) return name === '' && ofId?.chunk !== this.chunk ? ofId : undefined
    if (ofId !== undefined && ofId !== atIndex && !startsAnew(ofId, piece, this.chunk)) return ofId
    const isOther = id !== '' && atIndex.id !== '' && id !== atIndex.id
    if (isOther && (name !== '' || isEnded(atIndex, piece.arguments))) return undefined
    return startsAnew(atIndex, piece, this.chunk) ? undefined : atIndex
  }

  private add(call: Call, piece: CallPiece): void {
    call.chunk = this.chunk
    if (piece.index !== null) this.byIndex.set(piece.index, call)
    this.addId(call, piece)
    if (call.number < 0) call.name = joinedName(call.name, piece.name)
    this.addArguments(call, piece)
    if (piece.extra !== null) call.extra = { ...call.extra, ...piece.extra }
  }

  // Ids in pieces come before the arguments. After them another id for the same call says nothing.
  private addId(call: Call, { id, name, arguments: text }: CallPiece): void {
    if (id === '' || call.number >= 0 || call.id === id) return
    if (call.id !== '' && (call.hasArguments || name !== '' || text !== '')) return
    // The id so far may be the beginning of another call's as well.
    this.byId.delete(call.id)
    call.id += id
    this.byId.set(call.id, call)
  }

  private addArguments(call: Call, { arguments: text, isWhole }: CallPiece): void {
    if (isWhole) call.hasObject = true
    if (text === '' || (isWhole && isEmpty(text))) return
    if (repeatsArguments(call, text)) {
      const more = newArguments(call, text)
      call.only = ''
      call.text.push(more)
      call.held += more
      return
    }
    if (holdsNothing(call)) this.forget(call)
    // A whole object that comes again is a repetition.
    else if (isEnded(call, text)) return
    call.only = call.hasArguments ? '' : text
    call.hasArguments = true
    if (!call.isUnread) call.text.push(text)
    call.held += text
    if (!call.text.whole || call.isGrowing) noteArguments(call, text)
  }

  private forget(call: Call): void {
    call.text.restart()
    call.held = ''
    call.hasArguments = false
  }

  /**
   * Passes on the held calls that are ready, in their order.
   * @param mayGoOn more may follow in place of arguments that are empty
   */
  private sendReady(sink: CallSink, isReady: (call: Call) => boolean, mayGoOn: boolean): void {
    for (const call of this.calls) {
      if (call.number < 0) {
        if (!isReady(call)) return
        this.sendHead(call, sink)
      }
      const { held } = call
      const isNothing = holdsNothing(call)
      if (held === '' || (isNothing && mayGoOn)) continue
      call.held = ''
      sink.toolArguments(call.number, isNothing ? EMPTY : held)
    }
  }

  private sendHead(call: Call, sink: CallSink): void {
    const isFree = call.id !== '' && !this.sentIds.has(call.id)
    const id = isFree ? call.id : madeCallId(this.requestId, this.sent)
    this.sentIds.add(id)
    call.number = this.sent++
    sink.toolCall(call.number, id, call.name, call.extra)
  }
}

function isEmpty(text: string): boolean {
  return text.trim() === EMPTY || (text !== '' && lacksArguments(text))
}

/** Whether all that came of the arguments says nothing; as a later piece it is one of their values. */
function holdsNothing({ held, only }: Call): boolean {
  return held === only && isEmpty(held)
}

/** Ready while its arguments arrive. */
function hasBegun(call: Call): boolean {
  return hasHead(call) && call.held !== '' && !holdsNothing(call)
}

/** Ready when another call begins. */
function hasHead(call: Call): boolean {
  return call.name !== '' && call.id !== ''
}

/** Ready when the message has ended. */
function hasName(call: Call): boolean {
  return call.name !== ''
}

/** Whether a piece that gives no other index and no other id begins its own call all the same. */
function startsAnew(call: Call, { id, name, arguments: text }: CallPiece, chunk: number): boolean {
  const isSameId = id !== '' && id === call.id
  if (name === '' || call.name === '') return !isSameId && isEnded(call, text) && isNewObject(call, text)
  if (!call.hasArguments) return (call.chunk === chunk || call.hasObject) && !isSameId
  if (isEnded(call, text)) return !isSameId && !repeatsArguments(call, text) && (name !== call.name || text !== '')
  return name !== call.name
}

function isNewObject(call: Call, text: string): boolean {
  if (call.only.trim() === EMPTY || text === call.only || repeatsArguments(call, text)) return false
  return text.trimStart().startsWith('{')
}

/** Whether the arguments are whole without this text, which begins others or repeats them. */
function isEnded(call: Call, text: string): boolean {
  if (!call.isUnread) return call.text.whole
  // An empty object amid others that were not read is one of their values.
  return (
    !repeatsArguments(call, text) &&
    !isEmpty(text) &&
    text.trimStart().startsWith('{') &&
    parseJsonObject(text) !== null
  )
}

/** A name comes in one piece, in several, or again with every piece, as a whole or up to this piece. */
function joinedName(name: string, piece: string): string {
  return piece === name || piece === '' ? name : piece.startsWith(name) ? piece : name + piece
}
