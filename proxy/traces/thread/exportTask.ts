import type { AccessEntry } from '../../metrics/accessLog.ts'
import type { AttemptTarget } from './attemptTarget.ts'
import type { RawContent } from './content/rawContent.ts'
import type { ExportTarget } from './postBatch.ts'

/** An attempt at a provider. Times are milliseconds from the request's arrival. */
export interface AttemptRecord extends AttemptTarget {
  readonly spanId: string
  readonly number: number
  readonly startMs: number
  readonly endMs: number
  /** Of the provider's answer; 0 for none. */
  readonly status: number
  /** The class of its failure; '' for none. */
  readonly error: string
}

/** A request at its end: one line of JSON. */
export interface TraceRecord {
  readonly id: string
  readonly traceId: string
  readonly spanId: string
  /** '' for a trace that begins here. */
  readonly parentId: string
  readonly state: string
  readonly isSampled: boolean
  readonly startedAtMs: number
  readonly durationMs: number
  readonly method: string
  readonly path: string
  /** '' where no route has the path. */
  readonly route: string
  /** Of the answer; 0 for none. */
  readonly status: number
  /** Of the error table; '' for none. */
  readonly errorCode: string
  /** Of a request that had a hold; null for others. */
  readonly entry: AccessEntry | null
  readonly attempts: readonly AttemptRecord[]
}

/** An export of one batch. */
export interface ExportTask {
  /** Trace records, a list in JSON. */
  readonly records: string
  /** For each record its content, or null; [] where no record has any. */
  readonly contents: readonly (RawContent | null)[]
  /** Of the input and the output of a request in their attributes. */
  readonly contentBytesMax: number
  readonly target: ExportTarget
  /** The attributes of the process, name and value. */
  readonly resource: readonly (readonly [name: string, value: string])[]
  readonly version: string
  /** Of the gateway's address. */
  readonly scheme: string
}

/** The result of one export. */
export interface ExportResult {
  /** Spans that the receiver refused, of those that it took. */
  readonly rejectedSpans: number
  /** Why none were taken; absent where they were. */
  readonly failure?: string
}
