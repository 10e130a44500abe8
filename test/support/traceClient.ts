import assert from 'node:assert/strict'
import type { OtlpReceiver, SeenSpan } from './otlpReceiver.ts'
import { assertConventional } from './spanConventions.ts'

/** The span of a client that its requests are sent by. */
export const CLIENT_SPAN = '00f067aa0ba902b7'
let traces = 0

/** The context of a client, and the headers that carry it. */
export interface Context {
  readonly traceId: string
  readonly headers: Record<string, string>
}

/** The context of a client with a trace of its own. */
export function newContext(isSampled = true): Context {
  const traceId = (++traces).toString(16).padStart(32, '4')
  return {
    traceId,
    headers: { traceparent: `00-${traceId}-${CLIENT_SPAN}-0${isSampled ? 1 : 0}`, tracestate: 'vendor=1' },
  }
}

/** The value of an attribute; undefined where the span has none of the name. */
export const value = ({ attributes }: SeenSpan, name: string) => attributes[name]?.value
export const values = (span: SeenSpan, names: readonly string[]) => names.map((name) => value(span, name))

/** The spans of a request, each of which keeps to the conventions, in the time of its parent. */
export async function conventionalSpans(
  receiver: OtlpReceiver,
  id: string,
  count: number,
): Promise<[SeenSpan, ...SeenSpan[]]> {
  const spans = await receiver.spansOf(id, count)
  const [own, ...attempts] = spans
  for (const span of spans) assertConventional(span)
  assert.equal(own.kind, 'SPAN_KIND_SERVER')
  for (const attempt of attempts) {
    assert.equal(attempt.kind, 'SPAN_KIND_CLIENT')
    assert.ok(own.startNs <= attempt.startNs && attempt.endNs <= own.endNs, 'an attempt lies within its request')
  }
  return spans
}
