import { CLIENT_LIMITS } from '../../contract/limits/clientLimits.ts'
import type { ContractLimits } from '../../contract/limits/limits.ts'
import { unitOf } from '../../contract/limits/unitOf.ts'
import { formatUsd } from '../../contract/money/units.ts'
import { type Handler, HEAD_BYTES_MAX, HEADERS_MAX, JSON_TYPE } from '../server/exchange.ts'
import { rateLimits } from './rateLimits.ts'

/** GET /v1/limits: the rate limits, sizes and timeouts that concern clients, as they are in force. */
export function limitsHandler(limits: ContractLimits): Handler {
  const body = JSON.stringify({
    object: 'limits',
    rate_limits: rateLimits(limits),
    concurrency: { open_requests_per_process: limits.openRequestsMax },
    request: {
      body_bytes: Math.min(limits.bodyBytesMax, limits.jsonBodyBytesMax),
      body_timeout_seconds: limits.bodyTimeoutMs / 1000,
      headers: HEADERS_MAX,
      head_bytes: HEAD_BYTES_MAX,
      json_depth: limits.jsonDepthMax,
      json_members: limits.jsonMembersMax,
      json_elements: limits.jsonElementsMax,
      without_key: {
        body_bytes: Math.min(limits.bodyBytesMax, limits.jsonBodyBytesMax, limits.strangerBodyBytesMax),
        upload_bytes: Math.min(limits.bodyBytesMax, limits.strangerUploadBytesMax),
        json_members: limits.strangerJsonMembersMax,
        json_elements: limits.strangerJsonElementsMax,
      },
      mcp_message_bytes: limits.mcpBodyBytesMax,
      messages: limits.messagesMax,
      fallback_models: limits.fallbackModelsMax,
      tools: limits.toolsMax,
      images: limits.imagesMax,
      user_characters: limits.nameCharactersMax,
      tags: {
        count: limits.tagsMax,
        name_characters: limits.tagNameCharactersMax,
        value_characters: limits.tagValueCharactersMax,
        bytes: limits.tagsBytesMax,
      },
      stop: { sequences: limits.stopSequencesMax, characters: limits.nameCharactersMax },
      logit_bias_entries: limits.logitBiasEntriesMax,
      n: 1,
      temperature: { min: 0, max: 2 },
      upload_bytes: limits.bodyBytesMax,
      embedding_inputs: limits.embeddingInputsMax,
      embedding_dimensions: limits.embeddingDimensionsMax,
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
    all: clientLimits(limits),
  })
  return (exchange) => exchange.answer(200, JSON_TYPE, body)
}

/** The limits that clients meet, by the names that SLUICE_LIMITS knows, with their units. */
function clientLimits(limits: ContractLimits): Record<string, { value: number; unit: string }> {
  const shown = Object.keys(CLIENT_LIMITS).map((name) => {
    const value = limits[name as keyof typeof CLIENT_LIMITS]
    return [name, { value, unit: unitOf(name) }] as const
  })
  return Object.fromEntries(shown)
}
