import type { Logger } from 'pino'
import type { GatewayError } from '../../contract/errors/errors.ts'
import type { MetricsLimits } from '../metrics/limits.ts'
import { RefusalLog } from '../metrics/refusalLog.ts'
import type { RequestMetrics } from '../metrics/requestMetrics.ts'
import type { Exchange } from '../server/exchange.ts'
import type { Tracer } from '../traces/tracer.ts'
import type { RefusalLimits } from './limits.ts'
import { RefusalRecords, type RefusalRecordsOptions } from './refusalRecords.ts'

interface RefusalsOptions extends Pick<RefusalRecordsOptions, 'redis' | 'keys' | 'onFault'> {
  readonly log: Logger
  readonly metrics: RequestMetrics
  readonly traces: Tracer | undefined
  readonly limits: MetricsLimits & RefusalLimits
}

/** Notes the errors that clients are answered with: in the log, and, where their requests had no hold, for those who ask why. */
export class Refusals {
  private readonly options: RefusalsOptions
  private readonly log: RefusalLog
  private readonly records: RefusalRecords

  constructor(options: RefusalsOptions) {
    this.options = options
    this.log = new RefusalLog(options.log, options.limits)
    this.records = new RefusalRecords({ ...options, counts: options.metrics.counters.refusalRecords })
  }

  readonly note = (error: GatewayError, exchange: Exchange): void => {
    const { metrics, traces } = this.options
    this.log.note(error.row, exchange.id)
    traces?.failed(exchange, error.status)
    if (exchange.isRecorded) return
    for (const recorder of metrics.recorders) recorder.refused(exchange, error.status, error.row, Date.now())
    this.records.note(error, exchange)
  }

  /** Writes what is gathered. */
  stop(): Promise<void> {
    this.log.stop()
    return this.records.stop()
  }
}
