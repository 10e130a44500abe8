import type { Limits } from '../../control/contract/limits.ts'
import { formatUsd } from '../../control/contract/units.ts'
import { type Handler, JSON_TYPE } from '../server/exchange.ts'

/** GET /v1/limits: what a client has to know of rates, sizes and times, as it is in force. */
export function limitsHandler(limits: Limits): Handler {
  const body = JSON.stringify({
    object: 'limits',
    rate_limits: rateLimits(limits),
    concurrency: { open_requests_per_process: limits.openRequestsMax },
    request: {
      body_bytes: Math.min(limits.bodyBytesMax, limits.jsonBodyBytesMax),
      body_timeout_seconds: limits.bodyTimeoutMs / 1000,
      messages: limits.messagesMax,
      tools: limits.toolsMax,
      images: limits.imagesMax,
      user_characters: limits.nameCharactersMax,
      stop: { sequences: limits.stopSequencesMax, characters: limits.nameCharactersMax },
      logit_bias_entries: limits.logitBiasEntriesMax,
      n: 1,
      temperature: { min: 0, max: 2 },
      upload_bytes: limits.bodyBytesMax,
      embedding_inputs: limits.embeddingInputsMax,
      images_per_answer: limits.imagesPerAnswerMax,
      image_side: { min: limits.imageSideMin, max: limits.imageSideMax },
      audio_seconds: limits.audioSecondsMax,
      rerank_documents: limits.rerankDocumentsMax,
    },
    tools: { input_bytes: limits.toolInputBytesMax, timeout_seconds: limits.toolTimeoutMs / 1000 },
    videos: {
      unbilled_jobs_per_key: limits.videoJobsPerKeyMax,
      jobs_per_process: limits.videoJobsMax,
      job_seconds: limits.videoJobMaxMs / 1000,
      clip_kept_seconds: limits.videoKeptMs / 1000,
      image_bytes: limits.videoImageBytesMax,
      image_side_pixels: limits.videoImageSideMax,
      downloads_per_key_and_process: limits.videoDownloadsPerKeyMax,
    },
    batches: {
      body_bytes: limits.batchBodyBytesMax,
      open_jobs_per_key: limits.batchJobsPerKeyMax,
      job_seconds: limits.batchLifetimeMs / 1000,
      result_kept_seconds: limits.batchResultKeptMs / 1000,
    },
    timeouts_seconds: {
      connect: limits.connectTimeoutMs / 1000,
      first_byte: limits.firstByteTimeoutMs / 1000,
      idle: limits.idleTimeoutMs / 1000,
      total: limits.totalTimeoutMs / 1000,
    },
    lists: { receipts_per_page: limits.receiptsPageMax, entries_per_page: limits.listPageMax },
    account: {
      body_bytes: limits.apiBodyBytesMax,
      keys: limits.keysPerAccountMax,
      wallets: limits.walletsPerAccountMax,
      session_seconds: limits.sessionLifetimeMs / 1000,
      idempotency_key_seconds: limits.idempotencyKeptMs / 1000,
      key_transfers_usd_per_day: formatUsd(limits.keyTransferUnitsPerDay),
    },
  })
  return (exchange) => exchange.answer(200, JSON_TYPE, body)
}

interface RateLimit {
  readonly id: string
  readonly applies_to: string
  readonly requests: number
  readonly period_seconds: number
  /** What may come at once after a quiet time. */
  readonly burst: number
  readonly scope: string
  readonly note?: string
}

/** Every rate that is answered with 429. */
function rateLimits(limits: Limits): RateLimit[] {
  const minutely = (id: string, scope: string, requests: number, burst: number, applies_to: string): RateLimit => ({
    ...{ id, applies_to, requests, period_seconds: 60, burst, scope },
  })
  const { requestsPerMinute, requestBurst, apiRequestsPerMinute, apiRequestBurst } = limits
  const { signInRequestsPerMinute, signInRequestBurst, signatureFailuresPerMinute } = limits
  const { providerChecksPerMinute, referralAttachesMax } = limits
  const keyBurst = Math.min(requestsPerMinute, requestBurst)
  return [
    {
      ...minutely('requests_per_key', 'key', requestsPerMinute, keyBurst, 'model endpoints'),
      note: 'A key may have a rate of its own.',
    },
    minutely('account_api', 'account', apiRequestsPerMinute, apiRequestBurst, ACCOUNT_API),
    minutely('sign_in', 'client network', signInRequestsPerMinute, signInRequestBurst, SIGN_IN),
    minutely('public_reads', 'client network', apiRequestsPerMinute, apiRequestBurst, PUBLIC_READS),
    minutely(
      ...([
        'wrong_signatures',
        'client network and wallet',
        signatureFailuresPerMinute,
        signatureFailuresPerMinute,
      ] as const),
      'signatures of wallets that are wrong',
    ),
    minutely('provider_checks', 'account', providerChecksPerMinute, providerChecksPerMinute, 'POST /v1/providers'),
    {
      ...{ id: 'referral_attaches', applies_to: 'POST /v1/referrals', requests: referralAttachesMax },
      ...{ period_seconds: limits.referralAttachWindowMs / 1000, burst: referralAttachesMax, scope: 'client network' },
      note: 'Answered with attach_velocity.',
    },
  ]
}

const ACCOUNT_API = 'endpoints of accounts, keys, receipts and statements'
const SIGN_IN =
  'endpoints that take no credential and change something, such as signing in; credentials that are refused'
const PUBLIC_READS = 'what everybody may read of agents and providers'
