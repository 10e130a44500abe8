import { VideoState, videoIdOf } from '../../../contract/catalog/video.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { ownAddress } from '../../../contract/net/ownAddress.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { RpcClient } from '../../bus/rpcClient.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import { providerWithKey } from '../../catalog/provider.ts'
import { type Exchange, type Handler, JSON_TYPE } from '../../server/exchange.ts'
import type { RunServices } from '../run/services.ts'
import { VideoAdoption } from './adopt.ts'
import { ClipRelay } from './clip.ts'
import { Downloads } from './downloads.ts'
import { failureText, jobJson } from './jobJson.ts'
import type { VideoJobs } from './jobs.ts'
import { readJob, refuseLost } from './reader.ts'
import type { StoredVideo } from './videoStore.ts'

const PREFIX = '/v1/videos/'
const CONTENT = '/content'
const DOWNLOADS_RETRY_SECONDS = 5

export interface VideoReadParts {
  readonly keys: KeyCache
  readonly catalog: CatalogStore
  readonly jobs: VideoJobs
  readonly services: RunServices
  readonly rpc: Pick<RpcClient, 'call'>
}

/** GET /v1/videos/{id}: the state of a job. GET /v1/videos/{id}/content: its clip. Any process can answer. */
export function videoReadHandler(parts: VideoReadParts): Handler {
  const { keys, jobs, services, rpc } = parts
  const adoption = new VideoAdoption(jobs.store, services, rpc)
  const downloads = new Downloads(services.limits)
  return async (exchange) => {
    const rest = exchange.head.path.slice(PREFIX.length)
    const ofContent = rest.endsWith(CONTENT)
    if (ofContent) checkVariant(exchange.head.query)
    const stored = await readJob(exchange, ofContent ? rest.slice(0, -CONTENT.length) : rest, keys, jobs.store)
    refuseLost(stored)
    if (stored.state < VideoState.MADE) jobs.wake(stored.job.owner, videoIdOf(stored.job.requestId))
    else adoption.consider(stored)
    if (ofContent) sendClip(exchange, stored, downloads, parts)
    else {
      const baseUrl = ownAddress(services.publicUrl, exchange.head.host)
      exchange.answer(200, JSON_TYPE, jobJson(stored, services.limits, baseUrl), costHeaders(stored))
    }
  }
}

/** Clients of the OpenAI API may ask for a thumbnail of a clip, which not all providers have. @throws GatewayError 400 */
function checkVariant(query: string): void {
  const variant = new URLSearchParams(query).get('variant') ?? 'video'
  if (variant !== 'video') throw invalidRequest('variant must be video; nothing else is kept of a clip.', 'variant')
}

function costHeaders({ job, state }: StoredVideo): readonly string[] {
  return state === VideoState.COMPLETED ? ['x-cost-units', String(job.chargeUnits)] : []
}

function sendClip(
  exchange: Exchange,
  { job, state, nowMs, madeAtMs }: StoredVideo,
  downloads: Downloads,
  { catalog, services }: VideoReadParts,
): void {
  const { limits, transport } = services
  if (state === VideoState.FAILED) throw new GatewayError('video_failed', { message: failureText(job.errorMessage) })
  if (state !== VideoState.COMPLETED) throw new GatewayError('video_not_ready')
  if (nowMs - madeAtMs >= limits.videoKeptMs) throw new GatewayError('video_expired')
  const provider = catalog.current?.providers.get(job.provider)
  if (provider === undefined || provider.missingKey !== '') {
    throw new GatewayError('model_unavailable', { message: 'The provider of the clip is not in the catalog now.' })
  }
  if (exchange.head.method === 'HEAD') {
    exchange.answer(200, 'video/mp4', '')
    return
  }
  const done = downloads.begin(job.keyId)
  if (done === null) {
    const message = 'Too many clips are being fetched; try again after Retry-After seconds.'
    throw new GatewayError('rate_limited', { message, retryAfterSeconds: DOWNLOADS_RETRY_SECONDS })
  }
  const onFault = (reason: string): void => services.onRouteFault({ id: `${provider.id}, a clip`, provider }, reason)
  const keyed = providerWithKey(provider, job.providerKey)
  new ClipRelay({ exchange, transport, limits, provider: keyed, upstreamId: job.upstreamId, done, onFault }).start()
}
