import assert from 'node:assert/strict'
import type { SeenSpan } from './otlpReceiver.ts'

type ValueType = 'string' | 'int' | 'double' | 'bool'

/**
 * The attributes of the OpenTelemetry semantic conventions 1.37.0 for HTTP servers and clients of generative AI, with the types
 * of their values: docs/http/http-spans.md and docs/gen-ai/gen-ai-spans.md of github.com/open-telemetry/semantic-conventions.
 */
const CONVENTIONS: Readonly<Record<string, ValueType>> = {
  'error.type': 'string',
  'gen_ai.conversation.id': 'string',
  'gen_ai.input.messages': 'string',
  'gen_ai.operation.name': 'string',
  'gen_ai.output.messages': 'string',
  'gen_ai.output.type': 'string',
  'gen_ai.provider.name': 'string',
  'gen_ai.request.choice.count': 'int',
  'gen_ai.request.max_tokens': 'int',
  'gen_ai.request.model': 'string',
  'gen_ai.response.id': 'string',
  'gen_ai.response.model': 'string',
  'gen_ai.system_instructions': 'string',
  'gen_ai.usage.input_tokens': 'int',
  'gen_ai.usage.output_tokens': 'int',
  'http.request.method': 'string',
  'http.response.status_code': 'int',
  'http.route': 'string',
  'server.address': 'string',
  'server.port': 'int',
  'url.path': 'string',
  'url.scheme': 'string',
}

/** Those of the gateway itself, as docs/operations/tracing.md lists them. */
const OWN: Readonly<Record<string, ValueType>> = {
  'sluice.account.id': 'string',
  'sluice.admission.duration': 'double',
  'sluice.attempt.number': 'int',
  'sluice.attempts': 'int',
  'sluice.charge.units': 'int',
  'sluice.content.truncated': 'bool',
  'sluice.error.code': 'string',
  'sluice.first_byte.duration': 'double',
  'sluice.hold.units': 'int',
  'sluice.key.id': 'string',
  'sluice.provider.key.id': 'string',
  'sluice.request.id': 'string',
  'sluice.request.status': 'string',
  'sluice.request.streamed': 'bool',
  'sluice.usage.cache_write_tokens': 'int',
  'sluice.usage.cached_input_tokens': 'int',
  'sluice.usage.reasoning_tokens': 'int',
}

/** What the conventions require of each kind of span. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  SPAN_KIND_SERVER: ['http.request.method', 'url.path', 'url.scheme'],
  SPAN_KIND_CLIENT: [
    'gen_ai.operation.name',
    'gen_ai.provider.name',
    'gen_ai.request.model',
    'server.address',
    'server.port',
  ],
}

const SPAN_ATTRIBUTES: Readonly<Record<string, ValueType>> = { ...CONVENTIONS, ...OWN }

/** Compares a span with the conventions. */
export function assertConventional(span: SeenSpan): void {
  const { attributes, kind, name, status } = span
  for (const [key, { type }] of Object.entries(attributes))
    assert.equal(type, SPAN_ATTRIBUTES[key], `${key} of ${name}`)
  const required = REQUIRED[kind]
  assert.ok(required !== undefined, kind)
  for (const key of required) assert.ok(key in attributes, `${name} has no ${key}`)
  assert.equal('error.type' in attributes, status === 'STATUS_CODE_ERROR', `error.type and status of ${name}`)
  const text = (key: string): string => String(attributes[key]?.value ?? '')
  const route = text('http.route')
  const expected =
    kind === 'SPAN_KIND_CLIENT'
      ? `${text('gen_ai.operation.name')} ${text('gen_ai.request.model')}`
      : text('http.request.method') + (route === '' ? '' : ` ${route}`)
  assert.equal(name, expected)
  assert.match(span.traceId, /^(?!0{32})[0-9a-f]{32}$/)
  assert.match(span.spanId, /^(?!0{16})[0-9a-f]{16}$/)
  assert.ok(span.startNs <= span.endNs && span.startNs > 0n)
}
