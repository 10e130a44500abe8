import '../../../contract/std/mendedJson.ts'
import protobuf from 'protobufjs/minimal.js'
import { opentelemetry } from '../../../contract/wire/generated/otlp.js'
import { contentOf } from './content/contentOf.ts'
import type { ExportResult, ExportTask, TraceRecord } from './exportTask.ts'
import { postBatch } from './postBatch.ts'
import { spansOf } from './spansOf.ts'

const { ExportTraceServiceResponse } = opentelemetry.proto.collector.trace.v1
const { ResourceSpans, ScopeSpans } = opentelemetry.proto.trace.v1
const { Writer } = protobuf
/** The numbers of the repeated fields that spans lie in: of an export, of those of a resource, and of those of a scope. */
const FIELD = { resourceSpans: 1, scopeSpans: 2, spans: 2 } as const
const LENGTH_DELIMITED = 2

/** Exports records as spans, in a thread: the task of a WorkerPool. A receiver that fails is no exception of the thread. */
export async function run(task: ExportTask): Promise<ExportResult> {
  const content = encodeSpans(task)
  try {
    return { rejectedSpans: rejectedIn(await postBatch(task.target, content)) }
  } catch (error) {
    return { rejectedSpans: 0, failure: error instanceof Error ? error.message : String(error) }
  }
}

/** The body of an export, by OTLP. */
export function encodeSpans(task: Omit<ExportTask, 'target'>): Uint8Array {
  const { records, contents, contentBytesMax, resource, version, scheme } = task
  const spans = (JSON.parse(records) as TraceRecord[]).flatMap((record, i) => {
    const raw = contents[i] ?? null
    return spansOf(record, scheme, raw === null ? undefined : contentOf(raw, record.entry, contentBytesMax))
  })
  const attributes = resource.map(([key, value]) => ({ key, value: { stringValue: value } }))
  // The fields of a message may follow each other in parts, so that the spans are encoded one by one.
  const scopeSpans = joined(ScopeSpans.encode({ scope: { name: 'sluice', version } }).finish(), FIELD.spans, spans)
  const resourceSpans = joined(ResourceSpans.encode({ resource: { attributes } }).finish(), FIELD.scopeSpans, [
    scopeSpans,
  ])
  return joined(new Uint8Array(), FIELD.resourceSpans, [resourceSpans])
}

/** A message with more values of a repeated field. */
function joined(message: Uint8Array, field: number, values: readonly Uint8Array[]): Uint8Array {
  const writer = Writer.create()
  for (const value of values) writer.uint32((field << 3) | LENGTH_DELIMITED).bytes(value)
  return Buffer.concat([message, writer.finish()])
}

/** Receivers answer in protobuf; an answer of another form says nothing of spans. */
function rejectedIn(answer: Buffer): number {
  try {
    return Number(ExportTraceServiceResponse.decode(answer).partialSuccess?.rejectedSpans ?? 0)
  } catch {
    return 0
  }
}
