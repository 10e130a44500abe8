import type { BatchStatus } from '../../contract/api/batch.ts'
import { camelColumns } from '../runtime/db/columns.ts'

/** The final outcome of a job. */
export type Outcome = 'done' | 'failed' | 'expired'

/** The states of a job in the book; see the migration. */
export type JobState = 'opening' | 'queued' | 'grouped' | 'calling' | 'ending' | Outcome

/** A provider that may serve a job. */
export interface JobRoute {
  readonly provider: string
  readonly model: string
  /** The name of the output limit. */
  readonly limit: string
}

/** A job as the book has it. Times are milliseconds since 1970. */
export interface JobRow {
  readonly id: string
  readonly accountId: string
  readonly keyId: string
  readonly state: JobState
  readonly owner: string
  readonly model: string
  readonly sheetVersion: number
  readonly coinUsdUnits: number
  /** A Rates message. */
  readonly rates: Buffer
  readonly holdUnits: number
  readonly heldAtMs: number
  readonly startedAtMs: number
  readonly createdAtMs: number
  readonly deadlineMs: number
  readonly approvalId: string
  readonly webhookUrl: string
  readonly baseUrl: string
  /** As receipts have them. */
  readonly endUser: string
  readonly tags: string
  readonly tagsSalt: string
  readonly routes: readonly JobRoute[]
  readonly route: number
  readonly provider: string
  readonly upstreamModel: string
  readonly maxTokens: number
  readonly context: number
  readonly maxOutput: number
  readonly promptBytes: number
  readonly promptExtraTokens: number
  readonly groupId: string | null
  readonly attempts: number
  readonly dueAtMs: number
  readonly outcome: Outcome | null
  readonly errorMessage: string
  /** A Settlement message. */
  readonly settlement: Buffer | null
  readonly chargeUnits: number | null
  readonly receipt: string | null
  readonly endedAtMs: number | null
}

/** All but the request and the result, which may be large. */
export const JOB_COLUMNS =
  camelColumns(`id, account_id, key_id, state, owner, model, sheet_version, coin_usd_units, rates, hold_units,
  held_at_ms, started_at_ms, created_at_ms, deadline_ms, approval_id, webhook_url, base_url, end_user, tags, tags_salt, routes, route, provider,
  upstream_model, max_tokens, context, max_output, prompt_bytes, prompt_extra_tokens, group_id, attempts, due_at_ms,
  outcome, error_message, settlement, charge_units, receipt, ended_at_ms`)

/** A job with its request. */
export type JobWithBody = JobRow & { readonly body: string }

/** The status of a job as shown to its owner: until it is charged, it is `submitted`. */
export function statusOf(state: JobState): BatchStatus {
  return state === 'done' || state === 'failed' || state === 'expired' ? state : 'submitted'
}

/** The request to a provider for a job, as JSON text. */
export function requestText(job: JobWithBody): string {
  const limit = job.routes[job.route]?.limit ?? 'max_tokens'
  const head = `{"model":${JSON.stringify(job.upstreamModel)},"${limit}":${job.maxTokens}`
  return job.body === '{}' ? `${head}}` : `${head},${job.body.slice(1)}`
}
