import { VideoState, videoIdOf } from '../../../contract/catalog/video.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import { hashSecret, newSecret } from '../../../contract/wire/ids.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { Exchange } from '../../server/exchange.ts'
import { ownerOf, type Serve } from '../run/serve.ts'
import { lastingServices } from '../run/services.ts'
import { type AdmittedVideo, admitVideo } from './admit.ts'
import type { VideoJobs } from './jobs.ts'
import type { VideoLimits } from './limits.ts'
import { readVideoRequest, type VideoRequest } from './request.ts'
import { VideoRun } from './run.ts'
import type { VideoJobFields } from './videoStore.ts'

export interface VideoParts {
  readonly catalog: CatalogStore
  readonly jobs: VideoJobs
}

/** POST /v1/videos/generations: takes a job and answers 202 with its id once a provider has taken it, too. */
export function videoServe({ catalog, jobs }: VideoParts): Serve {
  return async (exchange, body, principal, services) => {
    const { limits, paid } = services
    const large = services.large.of(body, ownerOf(services), principal.accountId)
    const request =
      large === undefined
        ? readVideoRequest(readJsonBody(body, limits.jsonDepthMax), limits)
        : ((await large.run('video', null)) as VideoRequest)
    const model = catalog.model(request.modelId)
    const admitted = admitVideo(request, principal, model, services, exchange)
    const readToken = paid === undefined ? '' : newSecret('rt')
    const job = newJob(exchange, principal, admitted, services.owner, readToken)
    const run = new VideoRun(exchange, principal, { admitted, job, jobs, readToken }, lastingServices(services))
    // A request for the price alone takes no job slot.
    if (paid?.isUnpaid) await paid.quote(run.hold)
    await open(jobs, job, limits)
    run.start()
  }
}

function newJob(
  exchange: Exchange,
  principal: Principal,
  { model, order, holdUnits }: AdmittedVideo,
  owner: string,
  readToken: string,
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
    readTokenHash: readToken === '' ? '' : hashSecret(readToken),
  }
}

/** Takes a place in this process and among the jobs of the key, or none. */
async function open(jobs: VideoJobs, job: VideoJobFields, limits: VideoLimits): Promise<void> {
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

function tooMany(what: string, { videoPollMaxMs }: VideoLimits): GatewayError {
  return new GatewayError('too_many_video_jobs', {
    message: `${what}; wait until one has finished.`,
    retryAfterSeconds: Math.max(1, Math.ceil(videoPollMaxMs / 1000)),
  })
}
