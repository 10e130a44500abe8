import { resolveRateSet } from '../money/charge.ts'
import { amountJson } from '../money/receipt.ts'
import { formatUsd } from '../money/units.ts'
import type { sluice } from '../wire/generated/messages.js'

/** The states of a batch job that its owner sees. */
export const BATCH_STATUSES = ['submitted', 'done', 'failed', 'expired'] as const
export type BatchStatus = (typeof BATCH_STATUSES)[number]

/** The id of the job that a request has made, and back: receipts show the one, jobs the other. */
export function batchIdOf(requestId: string): string {
  return `batch_${requestId.slice('req_'.length)}`
}

/** @param batchId has the form of an id of a batch job */
export function requestIdOfBatch(batchId: string): string {
  return `req_${batchId.slice('batch_'.length)}`
}

/** The public view of a job. Times are milliseconds since 1970. */
export interface ShownBatch {
  readonly requestId: string
  readonly status: BatchStatus
  readonly model: string
  readonly createdAtMs: number
  readonly deadlineMs: number
  readonly endedAtMs: number | null
  readonly holdUnits: number
  readonly coinUsdUnits: number
  readonly sheetVersion: number
  readonly rates: sluice.Rates.$Properties
  /** Why it ended without a result. */
  readonly error: { readonly code: string; readonly message: string } | null
  /** As JSON text, once the job is over; '' before. */
  readonly receipt: string
  /** '' for none. */
  readonly webhookUrl: string
  readonly webhookSecret: string
  /** The address under which the client that submitted the job reaches the gateway, without a trailing slash. */
  readonly baseUrl: string
}

/** The batch.job object as JSON text. Its price is in USD per million tokens, as on the price sheet. */
export function batchJobJson(job: ShownBatch): string {
  const id = batchIdOf(job.requestId)
  const head = {
    object: 'batch.job',
    id,
    status: job.status,
    rate: 'batch',
    model: job.model,
    request_id: job.requestId,
    created_at: seconds(job.createdAtMs),
    expires_at: seconds(job.deadlineMs),
    completed_at: job.endedAtMs === null ? null : seconds(job.endedAtMs),
  }
  const tail = {
    price: priceOf(job.rates, job.sheetVersion),
    poll: `${job.baseUrl}/v1/batches/${id}`,
    result: `${job.baseUrl}/v1/batches/${id}/result`,
    error: job.error,
    ...(job.webhookUrl === '' ? {} : { webhook: { url: job.webhookUrl, secret: job.webhookSecret } }),
  }
  const hold = amountJson(job.holdUnits, job.coinUsdUnits)
  const rest = JSON.stringify(tail).slice(1, -1)
  return `${JSON.stringify(head).slice(0, -1)},"hold":${hold},${rest},"receipt":${job.receipt || 'null'}}`
}

function priceOf(rates: sluice.Rates.$Properties, sheetVersion: number): Record<string, unknown> {
  return {
    unit: 'million_tokens',
    sheet: String(sheetVersion),
    ...ratesJson(rates),
    ...(rates.long && rates.longThreshold
      ? { long_context: { threshold: rates.longThreshold, ...ratesJson(rates.long) } }
      : {}),
  }
}

function ratesJson(rates: sluice.Rates.$Properties): Record<string, string> {
  const set = resolveRateSet({
    input: rates.input ?? 0,
    output: rates.output ?? 0,
    cachedInput: rates.cachedInput ?? null,
    cacheWrite5m: rates.cacheWrite_5m ?? null,
    cacheWrite1h: rates.cacheWrite_1h ?? null,
  })
  return {
    batch_input: formatUsd(set.input),
    batch_output: formatUsd(set.output),
    batch_cached_input: formatUsd(set.cachedInput),
    batch_cache_write_5m: formatUsd(set.cacheWrite5m),
    batch_cache_write_1h: formatUsd(set.cacheWrite1h),
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
