// Goal: the OTEL_* variables mean here what they mean elsewhere; wrong ones are refused by name when the proxy starts, and
// secrets are not repeated.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readVariables } from '../../../../contract/schemas/environment.ts'
import { traceSettingsOf } from '../../../../proxy/traces/settings.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

const dir = makeTempDir('trace-settings')
after(() => removeTempDir(dir))

const BASE = { SLUICE_BUS_KEY: 'a'.repeat(64) }
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
const read = (env: Record<string, string>) => traceSettingsOf(readVariables({ ...BASE, ...env }, 'proxy'))

test('there are no traces without an address, or where they are switched off', () => {
  const off: Record<string, string>[] = [
    {},
    { OTEL_SERVICE_NAME: 'x' },
    { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' },
    { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' },
    { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'always_off' },
    // A cluster may set a protocol for others; it is no fault where nothing is exported.
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_EXPORTER: 'none' },
  ]
  for (const env of off) assert.equal(read(env), undefined, JSON.stringify(env))
})

test('an address alone has the defaults of the specification', () => {
  assert.deepEqual(read(ENDPOINT), {
    url: 'http://127.0.0.1:4318/v1/traces',
    headers: {},
    gzip: false,
    timeoutMs: 10_000,
    sampler: 'parentbased_always_on',
    ratio: 1,
    resource: [['service.name', 'sluice']],
    queueSpansMax: 2_048,
    batchSpansMax: 512,
    delayMs: 5_000,
    capturesContent: false,
  })
  assert.equal(
    read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://a.example/otlp/' })?.url,
    'https://a.example/otlp/v1/traces',
  )
})

test('settings of traces win over those of all signals', () => {
  const file = join(dir, 'ca.pem')
  writeFileSync(file, 'PEM')
  const settings = read({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/mine',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20shared, x-tenant=a',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20own',
    OTEL_EXPORTER_OTLP_TIMEOUT: '1',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_CERTIFICATE: file,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod,service.name=other,note=a%2Cb',
    OTEL_SERVICE_NAME: 'gateway',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
  })
  assert.deepEqual(settings, {
    url: 'http://127.0.0.1:9/mine',
    headers: { authorization: 'Bearer own', 'x-tenant': 'a' },
    certificates: 'PEM',
    gzip: true,
    timeoutMs: 2,
    sampler: 'traceidratio',
    ratio: 0.25,
    resource: [
      ['deployment.environment.name', 'prod'],
      ['service.name', 'gateway'],
      ['note', 'a,b'],
    ],
    queueSpansMax: 100,
    batchSpansMax: 100,
    delayMs: 5_000,
    capturesContent: true,
  })
})

test('a wrong value is refused in words, without a secret', () => {
  const wrong: [name: string, value: string, words: RegExp][] = [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', /OTEL_EXPORTER_OTLP_ENDPOINT must be an address/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://[', /OTEL_EXPORTER_OTLP_ENDPOINT must be an address/],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'ftp://x', /OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an address/],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /must be http\/protobuf, not "grpc"/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret', /OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=secret%', /OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs/],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a=secret%0d%0ax: y', /OTEL_EXPORTER_OTLP_TRACES_HEADERS must be name=value/],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '0', /OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds/],
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', join(dir, 'none.pem'), /CERTIFICATE names a file that cannot be read/],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'br', /OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none/],
    ['OTEL_RESOURCE_ATTRIBUTES', 'no pair', /OTEL_RESOURCE_ATTRIBUTES must be name=value pairs/],
    ['OTEL_TRACES_EXPORTER', 'zipkin', /OTEL_TRACES_EXPORTER must be otlp or none/],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', /OTEL_TRACES_SAMPLER must be one of/],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', /OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1/],
    ['OTEL_TRACES_SAMPLER_ARG', 'half', /OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1/],
    ['OTEL_SDK_DISABLED', 'yes', /OTEL_SDK_DISABLED must be true or false/],
    [
      'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
      'span_only',
      /CAPTURE_MESSAGE_CONTENT must be true or false/,
    ],
    ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', '1', /CAPTURE_MESSAGE_CONTENT must be true or false/],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '1000000', /OTEL_BSP_MAX_QUEUE_SIZE must be a number from 64 to 65536/],
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '0', /OTEL_BSP_MAX_EXPORT_BATCH_SIZE must be a number from 1/],
    ['OTEL_BSP_SCHEDULE_DELAY', 'soon', /OTEL_BSP_SCHEDULE_DELAY must be a number of milliseconds/],
  ]
  for (const [name, value, words] of wrong) {
    assert.throws(
      () => read({ ...ENDPOINT, [name]: value }),
      (error: Error) => words.test(error.message) && !error.message.includes('secret'),
      `${name}=${value}`,
    )
  }
})

test('shares are read as they are written', () => {
  const shares: [text: string, ratio: number][] = [
    ['0', 0],
    ['1', 1],
    ['0.01', 0.01],
    ['.5', 0.5],
    ['1.0', 1],
  ]
  for (const [text, ratio] of shares) assert.equal(read({ ...ENDPOINT, OTEL_TRACES_SAMPLER_ARG: text })?.ratio, ratio)
})
