import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { AgentsLimits } from '../products/agents/limits.ts'

/** The limits of batch jobs and webhooks. A group is the jobs that are sent in one batch of a provider. */
export const BATCH_LIMITS = {
  /** How long a job may take from its row to its hold, in milliseconds. */
  batchOpenMs: 60_000,
  /** Jobs of all keys that are open concurrently. */
  batchJobsOpenMax: 1_000_000,
  /** Interval of the steps of the work on jobs, in milliseconds. */
  batchTickMs: 500,
  /** Rows per step, and repetitions of a step. */
  batchPassMax: 200,
  /** How long jobs wait for others that travel with them, in milliseconds. */
  batchGatherMs: 2_000,
  /** Jobs of a model that wait, the oldest first, among which those of all accounts are packed in turn. */
  batchJobsReadMax: 10_000,
  /** Jobs of a group. */
  batchGroupJobsMax: 1_000,
  /** The requests of a group, in bytes. */
  batchGroupBytesMax: 33_554_432,
  /** Groups that one control works on concurrently. */
  batchLanes: 4,
  /** How long a group is reserved for the control that works on it, in milliseconds. */
  batchLeaseMs: 120_000,
  /** How long a batch whose creation was interrupted is searched for at the provider, in milliseconds. */
  batchFindGraceMs: 60_000,
  /** Pages of a provider's batches that are searched. */
  batchFindPagesMax: 50,
  /** Interval of the polls for the state of a batch, in milliseconds. */
  batchPollMs: 15_000,
  /** How long before the deadline of its jobs a batch is cancelled, in milliseconds. */
  batchCancelLeadMs: 900_000,
  /** How long after its deadline a job that is still open expires, in milliseconds. */
  batchExpireGraceMs: 60_000,
  /** The first wait before a failed step at a provider is retried, in milliseconds. */
  batchRetryMs: 5_000,
  /** The longest wait before a failed step at a provider is retried, in milliseconds. */
  batchRetryMaxMs: 300_000,
  /** How often a job is sent to providers that take no batches. */
  batchAttemptsMax: 8,
  /** A file of results from a provider, in bytes. */
  batchFileBytesMax: 134_217_728,
  /** The result of one job, in bytes. */
  batchResultBytesMax: 4_194_304,
  /** Members of all objects in the result of one job, and elements of all arrays. */
  batchResultValuesMax: 131_072,
  /** A part of a result that crosses Redis in one piece, in characters. */
  batchResultPartChars: 262_144,
  /** Concurrent calls to a provider that takes no batches. */
  batchCallsPerProviderMax: 4,
  /** The time from the start of one such call to the next, in milliseconds. */
  batchCallPaceMs: 100,
  /** Timeout of such a call, in milliseconds. */
  batchCallTimeoutMs: 600_000,
  /** The margin after batchCallTimeoutMs before a call counts as lost, in milliseconds. */
  batchCallMarginMs: 5_000,
  /** The first wait before a failed webhook delivery is retried, in milliseconds. */
  webhookRetryMs: 15_000,
  /** The longest wait before a failed webhook delivery is retried, in milliseconds. */
  webhookRetryMaxMs: 3_600_000,
  /** How long webhooks and their delivery attempts are kept, in milliseconds. */
  webhookKeptMs: 2_592_000_000,
  /** Webhooks that are sent concurrently. */
  webhooksAtOnceMax: 16,
  /** Due webhooks, the oldest first, among which those of all accounts are taken in turn. */
  webhooksReadMax: 1_000,
} as const

export type BatchLimits = LimitsOf<typeof BATCH_LIMITS> & AgentsLimits
