import { saysSomething } from '../../../contract/api/answerError.ts'
import { type ScanBounds, scanBounds } from '../../json/answerScan.ts'
import type { ListItem, MembersContent } from '../../json/findMembers.ts'
import type { AnswerBounds } from '../../json/jsonObject.ts'
import { spanBytes } from '../../json/jsonSpans.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { Rejected } from '../../upstream/refusal.ts'

/** A provider's answer by its members, whose values are kept as their original bytes. */
export class Members {
  readonly bytes: Buffer
  private readonly content: MembersContent

  constructor(bytes: Buffer, content: MembersContent) {
    this.bytes = bytes
    this.content = content
  }

  /** The elements of the list that was to be looked into; null where there is none. */
  get items(): readonly ListItem[] | null {
    return this.content.items
  }

  /** A member's value as its bytes. */
  bytesOf(name: string): Buffer | undefined {
    const span = this.content.spans.get(name)
    return span === undefined ? undefined : spanBytes(this.bytes, span)
  }

  /** One of the values that were parsed; undefined when it is absent, or exceeds the bounds of JSON that is read on the event loop. */
  value(name: string): unknown {
    return this.content.values.get(name)
  }

  /**
   * A JSON object of the gateway's own members, then those of the answer that are not among `owned`, then the receipt.
   * @param own members as JSON, in pieces without braces; not empty
   * @param receipt JSON text, or '' for none
   */
  relay(own: readonly (string | Buffer)[], owned: ReadonlySet<string>, receipt: string): readonly Buffer[] {
    const pieces = ['{', ...own].map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
    for (const [name, span] of this.content.spans) {
      if (owned.has(name) || name === 'receipt') continue
      pieces.push(Buffer.from(`,${JSON.stringify(name)}:`), spanBytes(this.bytes, span))
    }
    pieces.push(Buffer.from(receipt === '' ? '}' : `,"receipt":${receipt}}`))
    return pieces
  }
}

/** The bounds of an answer that is read by its members: most of it may be strings that are never parsed. */
export function memberBounds(limits: AnswerBounds): ScanBounds {
  return { ...scanBounds(limits, new Map()), bytesMax: Number.POSITIVE_INFINITY }
}

/** The answer by its members; a refusal where there are none, or an error despite the status. */
export function membersOf(body: Buffer, content: MembersContent | null): Members | Rejected {
  if (content === null) return rejected(null)
  const members = new Members(body, content)
  const error = members.value('error')
  return saysSomething(error) ? rejected(error) : members
}

/** @param error the provider's error, or null for an answer that cannot be read */
export function rejected(error: unknown): Rejected {
  return { rejected: refusalOfError(error) }
}
