import type { Limits } from '../../control/contract/limits.ts'
import { type Handler, JSON_TYPE } from '../server/exchange.ts'

/** GET /v1/limits: what a client has to know of rates, sizes and times, as it is in force. */
export function limitsHandler(limits: Limits): Handler {
  const body = JSON.stringify({
    object: 'limits',
    rate_limits: [
      {
        id: 'requests_per_key',
        applies_to: 'model endpoints',
        requests: limits.requestsPerMinute,
        period_seconds: 60,
        burst: Math.min(limits.requestsPerMinute, limits.requestBurst),
        scope: 'key',
        note: 'A key may have a rate of its own.',
      },
      {
        id: 'account_api',
        applies_to: 'endpoints of accounts, keys, receipts and statements',
        requests: limits.apiRequestsPerMinute,
        period_seconds: 60,
        burst: limits.apiRequestBurst,
        scope: 'account',
      },
      {
        id: 'sign_in',
        applies_to: 'endpoints that take no credential and change something, such as signing in',
        requests: limits.signInRequestsPerMinute,
        period_seconds: 60,
        burst: limits.signInRequestBurst,
        scope: 'client address',
      },
    ],
    concurrency: { open_requests_per_process: limits.openRequestsMax },
    request: {
      body_bytes: Math.min(limits.bodyBytesMax, limits.jsonBodyBytesMax),
      body_timeout_seconds: limits.bodyTimeoutMs / 1000,
      messages: limits.messagesMax,
      tools: limits.toolsMax,
      images: limits.imagesMax,
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
    },
  })
  return (exchange) => exchange.answer(200, JSON_TYPE, body)
}
