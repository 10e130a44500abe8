import type { Logger } from 'pino'
import { buildLabels } from '../../contract/std/buildInfo.ts'
import { OutageLog } from '../../contract/std/outageLog.ts'
import { WorkerPool } from '../../workers/pool.ts'
import { logEvent } from '../logEvents.ts'
import type { RequestMetrics } from '../metrics/requestMetrics.ts'
import { ContentMemory } from './content/contentMemory.ts'
import type { TraceLimits } from './limits.ts'
import { samplerOf } from './sampler.ts'
import type { TraceSettings } from './settings.ts'
import { SpanQueue } from './spanQueue.ts'
import type { ExportResult, ExportTask } from './thread/exportTask.ts'
import { Tracer } from './tracer.ts'

const TASK_FILE = new URL('./thread/exportSpans.js', import.meta.url).href

/** The settings that traces are made by. */
interface TracingConfig {
  /** Undefined for no traces. */
  readonly traces: TraceSettings | undefined
  readonly publicUrl: string
}

export interface TracerParts {
  readonly limits: TraceLimits & { readonly outageLogMs: number }
  readonly log: Logger
  /** The name of the process among those of the installation. */
  readonly instance: string
  /** Asked when there is something to count: they are made after the tracer, which they record to. */
  readonly metrics: () => Pick<RequestMetrics, 'noteSpans' | 'noteContentDropped'>
}

/** The traces that the settings ask for. Their spans are made and posted in one thread, which starts with the first ones. */
export function newTracer({ traces: settings, publicUrl }: TracingConfig, parts: TracerParts): Tracer | undefined {
  if (settings === undefined) return undefined
  const { limits, log, instance, metrics } = parts
  const { url, headers, certificates, gzip, timeoutMs } = settings
  const outage = new OutageLog(
    {
      began: (err) => logEvent(log, 'traces_export_failed', { err, url }),
      goesOn: (err) => logEvent(log, 'traces_export_failed', { err, url }),
      ended: (outageMs) => logEvent(log, 'traces_export_recovered', { outageMs }),
    },
    limits.outageLogMs,
  )
  const pool = new WorkerPool({
    threadsMax: 1,
    queueMax: 1,
    taskTimeoutMs: timeoutMs + limits.traceThreadStartMs,
    idleTimeoutMs: limits.traceThreadIdleMs,
    onFault: (error) => outage.failed('thread', error),
  })
  const { version } = buildLabels()
  const task: Omit<ExportTask, 'records' | 'contents'> = {
    target: {
      url,
      headers,
      ...(certificates !== undefined && { certificates }),
      gzip,
      timeoutMs,
      retryMs: limits.traceRetryMs,
      answerBytesMax: limits.traceAnswerBytesMax,
    },
    resource: [
      ['telemetry.sdk.name', 'sluice'],
      ['telemetry.sdk.language', 'nodejs'],
      ['telemetry.sdk.version', version],
      ['service.version', version],
      ['service.instance.id', instance],
      ...settings.resource,
    ],
    version,
    scheme: publicUrl.startsWith('https:') ? 'https' : 'http',
    contentBytesMax: limits.traceContentBytesMax,
  }
  const queue = new SpanQueue({
    spansMax: settings.queueSpansMax,
    batchSpansMax: settings.batchSpansMax,
    batchContentBytesMax: limits.traceContentBatchBytesMax,
    delayMs: settings.delayMs,
    stopMs: limits.traceStopMs,
    send: (lines, contents) => {
      const records = `[${lines.join(',')}]`
      return pool.runFile<ExportTask, ExportResult>(TASK_FILE, { ...task, records, contents })
    },
    close: () => pool.close(),
    onCount: (...spans) => metrics().noteSpans(...spans),
    outage,
  })
  const memory = settings.capturesContent ? new ContentMemory(limits, () => metrics().noteContentDropped()) : undefined
  return new Tracer(samplerOf(settings.sampler, settings.ratio), queue, limits, memory)
}
