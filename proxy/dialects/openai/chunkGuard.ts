import { type FinishReason, reasonWithCalls } from '../../../contract/api/finishReason.ts'
import { isName } from '../../json/jsonScan.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import { parseBytes } from '../../sse/sseText.ts'
import type { CallBounds } from '../limits.ts'
import type { CallReader } from './callReader.ts'
import { ChunkRepair } from './chunkRepair.ts'
import type { ChunkScan } from './chunkScan.ts'

/** Reasons that clients get as the provider wrote them. */
const REASONS = (['stop', 'length', 'tool_calls', 'content_filter'] as const).map((word) => ({
  word,
  bytes: Buffer.from(word),
}))
/** `{}`, which some providers put before the arguments themselves, or `[]`. */
const EMPTY_ARGUMENTS_BYTES = 2
const NULL = Buffer.from('null')

/** The treatment of a chunk. */
export type ChunkFate =
  /** The client gets it as it is. */
  | 'relay'
  /** The same, once the next chunk shows that the name of the call in it is complete. */
  | 'hold'
  /** Clients would stumble over it. */
  | 'rewrite'

/**
 * Decides which chunks of a stream of chat completions go through as they are: by what a scan of their bytes found, so that
 * chunks in the form of the format's documentation are never parsed, but for those that begin a tool call.
 */
export class ChunkGuard {
  /** The reason that the client has got. */
  reason: FinishReason | null = null
  /** The client has got text or reasoning in chunks as they were. */
  hasRelayed = false
  /** The client has got the role of the message. */
  private hasRole = false
  /** It will with the chunk that is held. */
  private heldRole = false
  private readonly requestId: string
  private readonly bounds: CallBounds
  private repair: ChunkRepair | undefined
  /** Calls that the provider numbers, names and identifies as documented, from the first one on. */
  private soundCalls = 0
  /** The beginning of a call, as the client gets it. */
  private held: Buffer | null = null

  /** @param requestId for the ids of calls that have none */
  constructor(requestId: string, bounds: CallBounds) {
    this.requestId = requestId
    this.bounds = bounds
  }

  /** For chunks that are to be rewritten, and for what is missing at the end. */
  get repairer(): ChunkRepair {
    this.repair ??= new ChunkRepair(this.requestId, this.bounds)
    const { repair } = this
    repair.choices.finish = this.reason
    if (this.hasRelayed) repair.choices.hasSaid = true
    if (this.hasRole) repair.hasRole = true
    return repair
  }

  /** The beginning of a call is kept. */
  get isHolding(): boolean {
    return this.held !== null
  }

  /** The client does not have everything of the calls, or not the reason that they make. */
  get isPending(): boolean {
    return this.repair?.choices.calls.isPending === true || this.repair?.owesReason === true
  }

  /** @param scan of the chunk in `bytes` */
  fateOf(bytes: Buffer, scan: ChunkScan, out: OutBuffer): ChunkFate {
    if (scan.choice.isOdd || scan.call.isOdd || scan.errorStart >= 0 || scan.hasOtherRole) return 'rewrite'
    // The reason depends on the call, which the client must have got before it.
    if (scan.finished && scan.call.count > 0) return 'rewrite'
    const fate = scan.call.count === 0 ? 'relay' : this.fateOfCall(bytes, scan, out)
    if (!scan.finished || fate === 'rewrite') return fate
    return fate === 'relay' && this.takesReason(bytes, scan) ? 'relay' : 'rewrite'
  }

  /** Whether a chunk is the first with output or a reason, and nobody has said who speaks, which packages want to know. */
  lacksRole({ hasRole, outputs, finished }: ChunkScan, fate: ChunkFate): boolean {
    const isLacking = !hasRole && (outputs > 0 || finished) && !this.hasRole && !this.heldRole
    if (fate === 'hold' && hasRole) this.heldRole = true
    else if (hasRole || isLacking) this.hasRole = true
    return isLacking
  }

  /** Keeps the beginning of a call until `sendHeld` or `dropHeld`. */
  hold(event: Buffer): void {
    this.held = Buffer.from(event)
  }

  sendHeld(out: OutBuffer): void {
    if (this.held === null) return
    out.appendAll(this.held)
    this.held = null
    if (this.heldRole) this.hasRole = true
    this.repair?.choices.calls.adoptSent()
  }

  /** The call is rewritten with what follows. */
  dropHeld(): void {
    this.held = null
    this.heldRole = false
  }

  /** Whether the reason of the chunk is the first, one of the known ones, and right for what was said before it. */
  private takesReason(bytes: Buffer, { choice }: ChunkScan): boolean {
    const { finishStart, finishEnd } = choice
    const word = REASONS.find((reason) => isName(bytes, finishStart, finishEnd - 1, reason.bytes))?.word
    const calls = this.repair?.choices.calls
    if (word === undefined || reasonWithCalls(word, calls?.count ?? 0) !== word) return false
    if (this.reason !== null) return word === this.reason
    if (calls?.isPending === true) return false
    this.reason = word
    return true
  }

  private fateOfCall(bytes: Buffer, scan: ChunkScan, out: OutBuffer): ChunkFate {
    const { count, index, idStart, nameStart, argumentsBytes } = scan.call
    // A call after the reason changes it.
    if (count !== 1 || this.reason !== null) return 'rewrite'
    const { calls } = this.repairer.choices
    if (mayBeNothing(bytes, scan) && !calls.hasArgumentsAt(index)) return 'rewrite'
    if (idStart >= 0 || nameStart >= 0) return this.fateOfBeginning(bytes, scan, out)
    // Once the provider has begun a call in another way, its numbers say little.
    if (index < 0 || index >= this.soundCalls || calls.begun > this.soundCalls) return 'rewrite'
    // The client has not got the call, or not all of it that came before.
    if (this.held === null && calls.count < this.soundCalls) return 'rewrite'
    return argumentsBytes === 0 || adopts(calls, bytes, scan) ? 'relay' : 'rewrite'
  }

  private fateOfBeginning(bytes: Buffer, scan: ChunkScan, out: OutBuffer): ChunkFate {
    const { call, outputs } = scan
    const { calls } = this.repairer.choices
    const { index, isFunction, argumentsBytes } = call
    const isNext = index === this.soundCalls && index === calls.begun
    if (call.idStart < 0 || call.nameStart < 0 || !isFunction || !isNext) return 'rewrite'
    const id = parseBytes(bytes, call.idStart, call.idEnd)
    const name = parseBytes(bytes, call.nameStart, call.nameEnd)
    if (typeof id !== 'string' || typeof name !== 'string') return 'rewrite'
    this.sendHeld(out)
    // Other output in the chunk cannot wait for the rest of the name.
    const isSent = argumentsBytes > 0 || outputs > 1
    if (!calls.adopt(index, id, name, isSent)) return 'rewrite'
    this.soundCalls++
    if (argumentsBytes > 0) adopts(calls, bytes, scan)
    return isSent ? 'relay' : 'hold'
  }
}

/** Whether a first piece of arguments may stand for none. */
function mayBeNothing(bytes: Buffer, { call }: ChunkScan): boolean {
  const { argumentsBytes, argumentsStart, argumentsEnd } = call
  if (argumentsBytes === EMPTY_ARGUMENTS_BYTES) return true
  return argumentsBytes === NULL.length && isName(bytes, argumentsStart, argumentsEnd - 1, NULL)
}

/** Whether a piece of arguments needs no reading. */
function adopts(calls: CallReader, bytes: Buffer, { call }: ChunkScan): boolean {
  return calls.adoptArguments(call.index, bytes, call.argumentsStart, call.argumentsEnd)
}
