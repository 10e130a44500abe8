import { VideoState, videoIdOf } from '../../../contract/catalog/video.ts'
import { ERRORS } from '../../../contract/errors/errors.ts'
import { amountJson } from '../../../contract/money/receipt.ts'
import type { VideoLimits } from './limits.ts'
import type { VideoJobFields } from './videoStore.ts'

/** A job as its clients see it; a clip that is made but not charged yet counts as in progress. */
export interface ShownVideo {
  readonly job: VideoJobFields
  readonly state: VideoState
  readonly madeAtMs: number
}

/**
 * The job object of the video endpoints, as JSON text: the members that OpenAI's clients know, and the gateway's own
 * (request_id, hold, poll, content, receipt). The prompt is null, because the gateway does not keep it.
 * @param baseUrl where this client reaches the gateway, from `ownAddress`
 */
export function jobJson(
  { job, state, madeAtMs }: ShownVideo,
  limits: Pick<VideoLimits, 'videoKeptMs'>,
  baseUrl: string,
): string {
  const id = videoIdOf(job.requestId)
  const completed = state === VideoState.COMPLETED
  const failed = state === VideoState.FAILED
  const status = completed ? 'completed' : failed ? 'failed' : state === VideoState.QUEUED ? 'queued' : 'in_progress'
  const shown = {
    id,
    object: 'video',
    status,
    progress: completed ? 100 : Math.min(job.progress ?? 0, 99),
    created_at: seconds(job.createdAtMs ?? 0),
    completed_at: completed ? seconds(madeAtMs) : null,
    expires_at: completed ? seconds(madeAtMs + limits.videoKeptMs) : null,
    model: job.model,
    prompt: null,
    seconds: String(completed ? job.madeSeconds : job.seconds),
    size: null,
    remixed_from_video_id: null,
    error: failed ? { code: 'video_failed', message: failureText(job.errorMessage ?? '') } : null,
    request_id: job.requestId,
    poll: `${baseUrl}/v1/videos/${id}`,
    content: `${baseUrl}/v1/videos/${id}/content`,
  }
  const hold = amountJson(job.holdUnits ?? 0, job.coinUsdUnits ?? 1)
  const receipt = completed && job.receiptJson ? job.receiptJson : 'null'
  return `${JSON.stringify(shown).slice(0, -1)},"hold":${hold},"receipt":${receipt}}`
}

/**
 * The job object for the client that has ordered it.
 * @param readToken its member `read_token`, left out when it is empty
 */
export function takenJobJson(
  shown: ShownVideo,
  limits: Pick<VideoLimits, 'videoKeptMs'>,
  baseUrl: string,
  readToken: string,
): string {
  const json = jobJson(shown, limits, baseUrl)
  return readToken === '' ? json : `${json.slice(0, -1)},"read_token":"${readToken}"}`
}

/** The client's text for a failed job. @param reason of the provider, or '' */
export function failureText(reason: string): string {
  return reason === '' ? ERRORS.video_failed.message : `The job failed and was not charged: ${reason}`
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
