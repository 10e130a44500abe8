import type { Span } from '../../../contract/std/span.ts'
import { type ScanBounds, scanBounds } from '../../json/answerScan.ts'
import { type AnswerBounds, isWithin } from '../../json/jsonObject.ts'
import { objectSpans, spanBytes, spanValue } from '../../json/jsonSpans.ts'
import type { Limits } from '../../limits.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { Rejected } from '../../upstream/refusal.ts'

/** A provider's answer by its members, whose values are kept as their original bytes. */
export class Members {
  readonly bytes: Buffer
  private readonly spans: Map<string, Span>
  private readonly bounds: AnswerBounds

  constructor(bytes: Buffer, spans: Map<string, Span>, bounds: AnswerBounds) {
    this.bytes = bytes
    this.spans = spans
    this.bounds = bounds
  }

  span(name: string): Span | undefined {
    return this.spans.get(name)
  }

  /** A member's value as its bytes. */
  bytesOf(name: string): Buffer | undefined {
    const span = this.spans.get(name)
    return span === undefined ? undefined : spanBytes(this.bytes, span)
  }

  /** A member's value, parsed; undefined when it is absent, or exceeds the bounds of what is read at once. */
  value(name: string): unknown {
    const span = this.spans.get(name)
    if (span === undefined || !isWithin(spanBytes(this.bytes, span), this.bounds)) return undefined
    return spanValue(this.bytes, span)
  }

  /**
   * A JSON object of the gateway's own members, then those of the answer that are not among `owned`, then the receipt.
   * @param own members as JSON, in pieces without braces; not empty
   * @param receipt JSON text, or '' for none
   */
  relay(own: readonly (string | Buffer)[], owned: ReadonlySet<string>, receipt: string): Buffer {
    const pieces = ['{', ...own].map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
    for (const [name, span] of this.spans) {
      if (owned.has(name) || name === 'receipt') continue
      pieces.push(Buffer.from(`,${JSON.stringify(name)}:`), spanBytes(this.bytes, span))
    }
    pieces.push(Buffer.from(receipt === '' ? '}' : `,"receipt":${receipt}}`))
    return Buffer.concat(pieces)
  }
}

/** The bounds of an answer that is read by its members: most of it may be strings that are never parsed. */
export function memberBounds(limits: AnswerBounds): ScanBounds {
  return { ...scanBounds(limits, new Map()), bytesMax: Number.POSITIVE_INFINITY }
}

/** The members of an answer; a refusal for a body that is not a JSON object, or that has an error despite its status. */
export function readMembers(body: Buffer, limits: Limits): Members | Rejected {
  const spans = objectSpans(body, limits.jsonDepthMax, undefined, limits.answerMembersMax)
  if (spans === null) return rejected(null)
  const members = new Members(body, spans, limits)
  const error = members.value('error')
  return error === undefined || error === null ? members : rejected(error)
}

/** @param error the provider's error, or null for an answer that cannot be read */
export function rejected(error: unknown): Rejected {
  return { rejected: refusalOfError(error) }
}
