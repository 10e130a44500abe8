import type { PromptSize } from '../../admission/holdSize.ts'
import type { PackBound } from '../shared/packed.ts'
import { type CallThought, countMember, unpackThought } from '../shared/thought.ts'

/**
 * The members of calls that a client sends back for the provider that wrote them, in blocks before the calls: providers of this
 * format do not get them.
 */
export class CallMembers {
  readonly byId = new Map<unknown, CallThought>()
  private pending: CallThought | null = null
  private readonly bound: PackBound

  constructor(bound: PackBound) {
    this.bound = bound
  }

  /** A message begins: a member without a call after it in its own message is of none. */
  begin(): void {
    this.pending = null
  }

  /** @returns whether the data of a block is the member of a call */
  take(data: unknown, size: PromptSize): boolean {
    const thought = unpackThought(data, this.bound)
    if (thought?.type !== 'call_member') return false
    this.pending = thought
    // A mark in the place of the data could not be read.
    size.rewritten = true
    return true
  }

  /** The call with this id is the next. */
  give(id: string, size: PromptSize): void {
    if (this.pending === null) return
    this.byId.set(id, this.pending)
    countMember(this.pending, size)
    this.pending = null
  }
}
