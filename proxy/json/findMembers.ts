import { textStart } from '../../contract/std/jsonBody.ts'
import type { Span } from '../../contract/std/span.ts'
import { type AnswerBounds, isWithin } from './jsonObject.ts'
import { arraySpans, objectSpans, spanBytes, spanValue } from './jsonSpans.ts'

/** The parts of an answer that are read, besides the places of its members. */
export interface MembersReading {
  /** Members whose values are parsed. */
  readonly values: readonly string[]
  /** The member whose elements are looked into, and how many of them at most. */
  readonly items?: { readonly name: string; readonly max: number }
  /** The most members that a parsed value has; absent is the usual bound. */
  readonly membersMax?: number
}

/** The members of an answer, as another thread may have found them. */
export interface MembersContent {
  readonly spans: ReadonlyMap<string, Span>
  /** Only those that are present and within the bounds of JSON that is read on the event loop. */
  readonly values: ReadonlyMap<string, unknown>
  /** The elements that were to be looked into; null where there is no list. */
  readonly items: readonly ListItem[] | null
}

/** An element of a list in an answer. */
export interface ListItem {
  readonly span: Span
  /** Null for one that is no object. */
  readonly members: ReadonlyMap<string, Span> | null
}

/** Finds the members of an answer; null for a body that is not a JSON object, or has too many of them. */
export function findMembers(body: Buffer, reading: MembersReading, limits: AnswerBounds): MembersContent | null {
  const { jsonDepthMax: depthMax, answerMembersMax } = limits
  const spans = objectSpans(body, depthMax, { start: textStart(body), end: body.length }, answerMembersMax)
  if (spans === null) return null
  const bounds = { ...limits, answerMembersMax: reading.membersMax ?? answerMembersMax }
  const values = new Map<string, unknown>()
  for (const name of ['error', ...reading.values]) {
    const span = spans.get(name)
    if (span !== undefined && isWithin(spanBytes(body, span), bounds)) values.set(name, spanValue(body, span))
  }
  return { spans, values, items: findItems(body, spans, reading, depthMax) }
}

function findItems(
  body: Buffer,
  spans: ReadonlyMap<string, Span>,
  { items }: MembersReading,
  depthMax: number,
): ListItem[] | null {
  const list = items === undefined ? undefined : spans.get(items.name)
  const elements = list === undefined ? null : arraySpans(body, depthMax, list, items?.max)
  return elements?.map((span) => ({ span, members: objectSpans(body, depthMax, span) })) ?? null
}
