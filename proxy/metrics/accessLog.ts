import type { Logger } from 'pino'
import { OutageLog } from '../../contract/std/outageLog.ts'
import { logEvent } from '../logEvents.ts'
import type { Exchange } from '../server/exchange.ts'
import type { MetricsLimits } from './limits.ts'
import { LineFile } from './lineFile.ts'
import { LineParts, usageText } from './lineParts.ts'
import type { EndedRequest } from './modelMetrics.ts'

const MICROSECONDS_PER_MS = 1_000

/** A request, as the log reads it. */
interface LoggedExchange {
  readonly id: string
  readonly head: { readonly method: string; readonly path: string; readonly forwardedFor: string }
  remoteAddress(): string
}

type ClientOf = (exchange: LoggedExchange) => string

/** A request with a hold, at its end. */
export interface AccessEntry extends EndedRequest {
  readonly requestId: string
  readonly accountId: string
  readonly keyId: string
  readonly holdUnits: number
  /** Attempts at providers. */
  readonly tries: number
}

/** Takes the requests of a process, each once, at its end. */
export interface RequestRecorder {
  /** A request with a hold. */
  ended(exchange: Exchange, entry: AccessEntry, atMs: number): void
  /** A request that was answered with an error, and that had no hold. */
  refused(exchange: Exchange, httpStatus: number, errorCode: string, atMs: number): void
}

/**
 * The access log: one line of JSON for each request, in a file or on standard output. No request waits for it: beyond
 * `accessLogBytesMax` lines are dropped and counted.
 */
export class AccessLog implements RequestRecorder {
  private readonly clientOf: ClientOf
  private readonly file: LineFile
  private readonly parts: LineParts

  /**
   * @param path a file, or `-` for standard output
   * @param clientOf the address of a request's client; '' leaves it out
   */
  constructor(path: string, clientOf: ClientOf, log: Logger, limits: MetricsLimits) {
    this.clientOf = clientOf
    this.parts = new LineParts(limits.accessLogNamesMax)
    const outage = new OutageLog(
      {
        began: (err) => logEvent(log, 'access_log_failed', { err, path }),
        goesOn: (err) => logEvent(log, 'access_log_failed', { err, path, dropped: this.dropped }),
        ended: (outageMs) => logEvent(log, 'access_log_recovered', { outageMs, dropped: this.dropped }),
      },
      limits.outageLogMs,
    )
    this.file = new LineFile({
      path,
      bytesMax: limits.accessLogBytesMax,
      flushMs: limits.accessLogFlushMs,
      onFailed: (error) => outage.failed(path, error),
      onWritten: () => outage.works(path),
    })
  }

  /** Lines that were not written. */
  get dropped(): number {
    return this.file.dropped
  }

  /** Notes a request with a hold, at its end. */
  ended(exchange: LoggedExchange, entry: AccessEntry, atMs: number): void {
    this.file.add(lineOf(this.parts, entry, atMs, this.addressOf(exchange)))
  }

  /** Notes a request that was answered with an error, and that had no hold. */
  refused(exchange: LoggedExchange, httpStatus: number, errorCode: string, atMs: number): void {
    const { id, head } = exchange
    const { method, path } = head
    const client = this.addressOf(exchange)
    const time = new Date(atMs).toISOString()
    this.file.add(JSON.stringify({ time, id, status: 'refused', method, path, httpStatus, errorCode, client }))
  }

  /** Opens the file again, after it was renamed by whoever rotates it. */
  reopen(): void {
    this.file.reopen()
  }

  /** Writes the lines that the disk takes in a short time. */
  stop(): Promise<void> {
    return this.file.stop()
  }

  /** @returns undefined, which no line has, where the address is left out */
  private addressOf(exchange: LoggedExchange): string | undefined {
    return this.clientOf(exchange) || undefined
  }
}

/** Member by member: an object of them, and its printing, take twice as long. Ids and names of the gateway need no escapes. */
function lineOf(parts: LineParts, entry: AccessEntry, atMs: number, client: string | undefined): string {
  const { requestId, operation, model, provider, key, accountId, keyId, status, errorCode, usage } = entry
  const { chargedUnits, holdUnits, tries, streamed, durationMs, firstByteMs, admissionMs } = entry
  const waitedMs = Math.round(admissionMs * MICROSECONDS_PER_MS) / MICROSECONDS_PER_MS
  const request = `"time":"${parts.time(atMs)}","id":"${requestId}","operation":"${operation}"`
  const served = `"model":${parts.name(model)},"provider":${parts.name(provider)},"providerKey":${parts.name(key)}`
  const asked = `"accountId":"${accountId}","keyId":"${keyId}"`
  const ended = `"status":"${status}","errorCode":${parts.name(errorCode)},"usage":${usageText(usage)}`
  const paid = `"chargedUnits":${chargedUnits},"holdUnits":${holdUnits},"tries":${tries},"streamed":${streamed}`
  const times = `"durationMs":${durationMs},"firstByteMs":${firstByteMs},"admissionMs":${waitedMs}`
  const from = client === undefined ? '' : `,"client":${JSON.stringify(client)}`
  return `{${request},${served},${asked},${ended},${paid},${times}${from}}`
}
