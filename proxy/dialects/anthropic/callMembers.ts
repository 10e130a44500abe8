import type { PromptSize } from '../../admission/holdSize.ts'
import { countReasoning } from '../shared/keptReasoning.ts'
import { isPacked, type PackBound } from '../shared/packed.ts'
import { type CallThought, countMember, unpackThought } from '../shared/thought.ts'

/** The parts that go back to a provider of another format with a call. */
export interface BeforeCall {
  /** Absent for none. */
  readonly member?: CallThought
  /** The texts of the reasoning that led to the call. */
  readonly reasoning: readonly string[]
}

/**
 * The members of calls that a client sends back for the provider that wrote them, in blocks before the calls, and the reasoning there:
 * providers of this format do not get them.
 */
export class CallMembers {
  readonly byId = new Map<unknown, BeforeCall>()
  private pending: CallThought | null = null
  private reasoning: string[] = []
  private readonly bound: PackBound

  constructor(bound: PackBound) {
    this.bound = bound
  }

  /** A message begins: what has no call after it in its own message is of none. */
  begin(): void {
    this.pending = null
    if (this.reasoning.length > 0) this.reasoning = []
  }

  /** @returns whether the data of a block is a gateway's, such as the member of a call, and so of no provider of this format */
  take(data: unknown, size: PromptSize): boolean {
    if (!isPacked(data)) return false
    const thought = unpackThought(data, this.bound)
    if (thought?.type === 'call_member') this.pending = thought
    // A mark in the place of the data could not be read.
    size.rewritten = true
    return true
  }

  /**
   * A block of thinking.
   * @param isMeasured a provider gets it in another form as well, and only one of the two
   */
  think(words: string, isMeasured: boolean, size: PromptSize): void {
    if (words === '') return
    this.reasoning.push(words)
    if (isMeasured) size.keptReasoning = true
    else countReasoning(words, size)
  }

  /** The call with this id is the next. */
  give(id: string, size: PromptSize): void {
    const { pending, reasoning } = this
    if (pending === null && reasoning.length === 0) return
    this.byId.set(id, { reasoning, ...(pending !== null && { member: pending }) })
    if (pending !== null) countMember(pending, size)
    this.pending = null
    this.reasoning = []
  }
}
