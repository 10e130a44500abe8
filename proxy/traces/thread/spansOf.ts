import { promptTokens } from '../../../contract/money/charge.ts'
import { CLIENT_GONE } from '../../../contract/money/receiptStatus.ts'
import { portOf, withoutBrackets } from '../../../contract/net/ipAddress.ts'
import { opentelemetry } from '../../../contract/wire/generated/otlp.js'
import type { AccessEntry } from '../../metrics/accessLog.ts'
import { operationName } from '../../metrics/modelBuckets.ts'
import type { SpanContent } from './content/contentOf.ts'
import type { AttemptRecord, TraceRecord } from './exportTask.ts'
import { SpanWriter } from './spanWriter.ts'

// The names are those of the OpenTelemetry semantic conventions, version 1.37.0, for HTTP servers and for clients of
// generative AI; what these have no name for begins with `sluice`.
// https://github.com/open-telemetry/semantic-conventions/tree/v1.37.0/docs

const { Span } = opentelemetry.proto.trace.v1
const NANOSECONDS = 1e6
const FIRST_ERROR = 400
const SERVER_ERROR = 500
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'])
/** Of the trace flags that OTLP keeps with a span: the sampled bit, whether the rest is known, and a parent elsewhere. */
const FLAGS = { sampled: 0x1, knowsRemote: 0x100, isRemote: 0x200 } as const

/** A provider's address as the conventions have it, by its origin; origins are those of the catalog. */
const addresses = new Map<string, { readonly host: string; readonly port: number }>()

/**
 * The spans of a request, each encoded: its own, and one of each attempt.
 * @param scheme of the gateway's address
 * @param content absent where none was captured
 */
export function spansOf(record: TraceRecord, scheme: string, content?: SpanContent): Uint8Array[] {
  const isServed = record.entry !== null && record.entry.provider !== ''
  const last = record.attempts.length - 1
  return [
    requestSpan(record, scheme, content),
    ...record.attempts.map((attempt, i) => attemptSpan(record, attempt, isServed && i === last)),
  ]
}

function flagsOf({ isSampled }: TraceRecord): number {
  return (isSampled ? FLAGS.sampled : 0) | FLAGS.knowsRemote
}

function requestSpan(record: TraceRecord, scheme: string, content: SpanContent | undefined): Uint8Array {
  const { traceId, spanId, parentId, state, startedAtMs, durationMs, route } = record
  const out = new SpanWriter({
    traceId,
    spanId,
    parentId,
    state,
    flags: flagsOf(record) | (parentId === '' ? 0 : FLAGS.isRemote),
    name: route === '' ? methodOf(record) : `${methodOf(record)} ${route}`,
    kind: Span.SpanKind.SPAN_KIND_SERVER,
    startNs: nanoseconds(startedAtMs),
    endNs: nanoseconds(startedAtMs + durationMs),
    isError: requestError(record) !== '',
  })
  requestAttributes(out, record, scheme)
  if (content !== undefined) contentAttributes(out, content)
  return out.bytes
}

function attemptSpan(record: TraceRecord, attempt: AttemptRecord, isServing: boolean): Uint8Array {
  const { traceId, state, spanId: parentId, startedAtMs } = record
  const { spanId, startMs, endMs, model, error } = attempt
  const out = new SpanWriter({
    traceId,
    spanId,
    parentId,
    state,
    flags: flagsOf(record),
    name: `${operationOf(record)} ${model}`,
    kind: Span.SpanKind.SPAN_KIND_CLIENT,
    startNs: nanoseconds(startedAtMs + startMs),
    endNs: nanoseconds(startedAtMs + Math.max(startMs, endMs)),
    isError: error !== '',
  })
  attemptAttributes(out, record, attempt)
  if (isServing && record.entry !== null) usageAttributes(out, record.entry)
  return out.bytes
}

function requestAttributes(out: SpanWriter, record: TraceRecord, scheme: string): void {
  const { entry, status } = record
  out
    .text('http.request.method', methodOf(record))
    .text('http.route', record.route)
    .text('url.path', record.path)
    .text('url.scheme', scheme)
    .some('http.response.status_code', status)
    .text('error.type', requestError(record))
    .text('sluice.request.id', record.id)
    .text('sluice.error.code', record.errorCode)
  if (entry === null) return
  out
    .text('gen_ai.operation.name', operationOf(record))
    .text('gen_ai.provider.name', entry.provider)
    .text('gen_ai.request.model', entry.model)
    .text('sluice.account.id', entry.accountId)
    .text('sluice.key.id', entry.keyId)
    .text('sluice.request.status', entry.status)
    .flag('sluice.request.streamed', entry.streamed)
    .count('sluice.charge.units', entry.chargedUnits)
    .count('sluice.hold.units', entry.holdUnits)
    .count('sluice.attempts', entry.tries)
    .decimal('sluice.admission.duration', entry.admissionMs / 1_000)
  if (entry.firstByteMs > 0) out.decimal('sluice.first_byte.duration', entry.firstByteMs / 1_000)
  usageAttributes(out, entry)
}

function contentAttributes(out: SpanWriter, { instructions, input, output, isTruncated }: SpanContent): void {
  out
    .text('gen_ai.system_instructions', instructions)
    .text('gen_ai.input.messages', input)
    .text('gen_ai.output.messages', output)
  if (isTruncated) out.flag('sluice.content.truncated', true)
}

function attemptAttributes(out: SpanWriter, record: TraceRecord, attempt: AttemptRecord): void {
  const { host, port } = addressOf(attempt.origin)
  out
    .text('gen_ai.operation.name', operationOf(record))
    .text('gen_ai.provider.name', attempt.provider)
    .text('gen_ai.request.model', attempt.model)
    .text('server.address', host)
    .count('server.port', port)
    .some('http.response.status_code', attempt.status)
    .text('error.type', attempt.error)
    .text('sluice.provider.key.id', attempt.key)
    .count('sluice.attempt.number', attempt.number)
}

function addressOf(origin: string): { readonly host: string; readonly port: number } {
  const known = addresses.get(origin)
  if (known !== undefined) return known
  const url = new URL(origin)
  const address = { host: withoutBrackets(url.hostname), port: portOf(url) }
  addresses.set(origin, address)
  return address
}

function usageAttributes(out: SpanWriter, { usage }: AccessEntry): void {
  out
    .some('gen_ai.usage.input_tokens', promptTokens(usage))
    .some('gen_ai.usage.output_tokens', usage.output)
    .some('sluice.usage.cached_input_tokens', usage.cachedInput)
    .some('sluice.usage.cache_write_tokens', usage.cacheWrite5m + usage.cacheWrite1h)
    .some('sluice.usage.reasoning_tokens', usage.reasoning)
}

/** Methods are the client's typing; the conventions count the unknown ones as one. */
function methodOf({ method }: TraceRecord): string {
  return METHODS.has(method) ? method : '_OTHER'
}

function operationOf({ entry }: TraceRecord): string {
  return entry === null ? '' : operationName(entry.operation)
}

/** The error code of a request that ended by a fault of the gateway or of a provider; '' for one that is the client's. */
function requestError({ status, errorCode }: TraceRecord): string {
  const isOfClient = errorCode === CLIENT_GONE || (status >= FIRST_ERROR && status < SERVER_ERROR)
  return isOfClient ? '' : errorCode
}

function nanoseconds(ms: number): number {
  return Math.round(ms * NANOSECONDS)
}
