import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs'
import { projectRoot } from '../../control/launch/paths.ts'
import { until } from './until.ts'

const OTLP = join(projectRoot, 'contract/wire/otlp')

/** A span, as the official definitions decode it. */
export interface SeenSpan {
  readonly traceId: string
  readonly spanId: string
  /** '' for none. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly flags: number
  readonly name: string
  readonly kind: string
  readonly startNs: bigint
  readonly endNs: bigint
  /** The name of the code; '' where it is not set. */
  readonly status: string
  readonly attributes: Readonly<Record<string, SeenValue>>
  /** Of the process. */
  readonly resource: Readonly<Record<string, SeenValue>>
}

/** An attribute: the type of its value, and the value. */
export interface SeenValue {
  readonly type: string
  readonly value: string | number | boolean
}

/** How the receiver answers: it takes exports, leaves them without an answer, or answers a status. */
export type ReceiverMode = 'take' | 'hang' | number

type Decoded = Record<string, unknown>

/** A receiver of OTLP over HTTP, which decodes by the official definitions with no code of the gateway. */
export class OtlpReceiver {
  readonly spans: SeenSpan[] = []
  readonly headers: IncomingHttpHeaders[] = []
  mode: ReceiverMode = 'take'
  /** Exports that arrived, taken or not. */
  exports = 0
  /** Spans that it says it refuses, of each export that it takes. */
  rejects = 0
  private readonly server: Server
  private readonly request: protobuf.Type
  private readonly response: protobuf.Type
  private readonly held: ServerResponse[] = []

  private constructor(root: protobuf.Root) {
    this.request = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest')
    this.response = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceResponse')
    this.server = createServer((request, response) => {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('end', () => this.onExport(request.url ?? '', request.headers, Buffer.concat(pieces), response))
    })
  }

  static async start(port = 0): Promise<OtlpReceiver> {
    const root = new protobuf.Root()
    root.resolvePath = (_from, path) => join(OTLP, path)
    await root.load('opentelemetry/proto/collector/trace/v1/trace_service.proto')
    const receiver = new OtlpReceiver(root)
    await new Promise<void>((resolve) => receiver.server.listen(port, '127.0.0.1', resolve))
    return receiver
  }

  /** Without a path. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Takes exports again, those that it left without an answer too. */
  release(): void {
    this.mode = 'take'
    for (const response of this.held.splice(0)) this.answer(response)
  }

  /** The spans of a request, once there are as many as are expected; the span of the request is the first one. */
  async spansOf(requestId: string, count: number): Promise<[SeenSpan, ...SeenSpan[]]> {
    const found = (): SeenSpan[] => {
      const own = this.spans.find(({ attributes }) => attributes['sluice.request.id']?.value === requestId)
      if (own === undefined) return []
      const children = this.spans.filter((one) => one.traceId === own.traceId && one.parentSpanId === own.spanId)
      return [own, ...children]
    }
    await until(`${count} spans of ${requestId}`, () => found().length >= count)
    const [own, ...attempts] = found()
    assert.ok(own !== undefined && attempts.length === count - 1)
    return [own, ...attempts]
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private onExport(path: string, headers: IncomingHttpHeaders, body: Buffer, response: ServerResponse): void {
    this.exports++
    if (typeof this.mode === 'number') {
      response.writeHead(this.mode).end()
      return
    }
    assert.equal(path, '/v1/traces')
    assert.equal(headers['content-type'], 'application/x-protobuf')
    this.headers.push(headers)
    this.decode(headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body)
    if (this.mode === 'hang') this.held.push(response)
    else this.answer(response)
  }

  private answer(response: ServerResponse): void {
    const partialSuccess = this.rejects > 0 ? { rejectedSpans: this.rejects, errorMessage: 'no' } : undefined
    const answer = this.response.create(partialSuccess === undefined ? {} : { partialSuccess })
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(this.response.encode(answer).finish())
  }

  private decode(body: Buffer): void {
    const decoded = this.request.toObject(this.request.decode(body), { longs: String, enums: String, bytes: String })
    for (const { resource, scopeSpans = [] } of listOf(decoded['resourceSpans'])) {
      const shared = valuesOf((resource as Decoded | undefined)?.['attributes'])
      for (const { spans } of listOf(scopeSpans)) for (const span of listOf(spans)) this.spans.push(seen(span, shared))
    }
  }
}

function seen(span: Decoded, resource: SeenSpan['resource']): SeenSpan {
  return {
    traceId: hexOf(span['traceId']),
    spanId: hexOf(span['spanId']),
    parentSpanId: hexOf(span['parentSpanId']),
    traceState: String(span['traceState'] ?? ''),
    flags: Number(span['flags'] ?? 0),
    name: String(span['name']),
    kind: String(span['kind']),
    startNs: BigInt(String(span['startTimeUnixNano'])),
    endNs: BigInt(String(span['endTimeUnixNano'])),
    status: String((span['status'] as Decoded | undefined)?.['code'] ?? ''),
    attributes: valuesOf(span['attributes']),
    resource,
  }
}

const listOf = (list: unknown): Decoded[] => (list ?? []) as Decoded[]
const hexOf = (base64: unknown): string => Buffer.from(String(base64 ?? ''), 'base64').toString('hex')

function valuesOf(attributes: unknown): Record<string, SeenValue> {
  const pairs = listOf(attributes).map(({ key, value }) => {
    const [[field = '', content] = []] = Object.entries((value ?? {}) as Record<string, string | number | boolean>)
    const type = field.replace('Value', '')
    return [String(key), { type, value: type === 'int' ? Number(content) : (content ?? '') }] as const
  })
  // The specification allows a name once.
  assert.equal(new Set(pairs.map(([name]) => name)).size, pairs.length)
  return Object.fromEntries(pairs)
}
