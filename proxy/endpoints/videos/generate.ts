import { GatewayError } from '../../../control/contract/errors.ts'
import type { Limits } from '../../../control/contract/limits.ts'
import { VideoState, videoIdOf } from '../../../control/contract/video.ts'
import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { VideoJobFields } from '../../jobs/videoStore.ts'
import type { Exchange, Handler } from '../../server/exchange.ts'
import { checkKey } from '../chat/chat.ts'
import { parseJsonObject } from '../parseJson.ts'
import type { RunServices } from '../run/services.ts'
import { type AdmittedVideo, admitVideo } from './admit.ts'
import type { VideoJobs } from './jobs.ts'
import { readVideoRequest } from './request.ts'
import { VideoRun } from './run.ts'

export interface VideoParts {
  readonly keys: KeyCache
  readonly catalog: CatalogStore
  readonly jobs: VideoJobs
  readonly services: RunServices
}

/** POST /v1/videos/generations: takes a job and answers 202 with its id once a provider has taken it, too. */
export function videoGenerationHandler({ keys, catalog, jobs, services }: VideoParts): Handler {
  const { limits, health, metrics } = services
  return async (exchange, body) => {
    metrics.counters.requests++
    const principal = await keys.find(readApiKey(exchange.head), exchange.startedAtMs)
    checkKey(principal, exchange.startedAtMs)
    const request = readVideoRequest(parseJsonObject(body, limits.jsonDepthMax))
    const model = catalog.model(request.modelId)
    const admitted = admitVideo(request, principal, model, health, limits, exchange.startedAtMs)
    const job = newJob(exchange, principal, admitted, services.owner)
    await open(jobs, job, limits)
    new VideoRun(exchange, principal, admitted, job, jobs, services).start()
  }
}

function newJob(
  exchange: Exchange,
  principal: Principal,
  { model, order, holdUnits }: AdmittedVideo,
  owner: string,
): VideoJobFields {
  return {
    requestId: exchange.id,
    accountId: principal.accountId,
    keyId: principal.keyId,
    owner,
    model: model.id,
    sheetVersion: model.sheet.version,
    coinUsdUnits: model.sheet.coinUsdUnits,
    createdAtMs: exchange.startedAtMs,
    seconds: order.seconds,
    holdUnits,
  }
}

/** Takes a place in this process and among the jobs of the key, or none. */
async function open(jobs: VideoJobs, job: VideoJobFields, limits: Limits): Promise<void> {
  const videoId = videoIdOf(job.requestId)
  if (!jobs.reserve(videoId)) throw tooMany('The gateway makes as many videos as it can', limits)
  try {
    if (await jobs.store.open(job, VideoState.QUEUED)) return
  } catch (cause) {
    jobs.remove(videoId)
    throw new GatewayError('admission_unavailable', { retryAfterSeconds: 1, cause })
  }
  jobs.remove(videoId)
  throw tooMany(`A key may have ${limits.videoJobsPerKeyMax} videos in the making`, limits)
}

function tooMany(what: string, { videoPollMaxMs }: Limits): GatewayError {
  return new GatewayError('too_many_video_jobs', {
    message: `${what}; wait until one has finished.`,
    retryAfterSeconds: Math.max(1, Math.ceil(videoPollMaxMs / 1000)),
  })
}
