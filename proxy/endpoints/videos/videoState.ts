import { readProviderError } from '../../../contract/providers/providerError.ts'
import { type FaultOwner, faultOf } from '../../../contract/providers/providerFault.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { askForState, readUpstreamVideo, type UpstreamVideo } from '../../dialects/openai/openaiVideos.ts'
import { callWhole } from '../../upstream/callWhole.ts'
import { getRequest } from '../../upstream/providerRequest.ts'
import { retryAfterMs } from '../../upstream/retryAfter.ts'
import { type Transport, TransportFailure } from '../../upstream/transport/transport.ts'
import type { VideoLimits } from './limits.ts'

/** The result of polling a job's state. */
export type VideoSight =
  | { readonly kind: 'seen'; readonly video: UpstreamVideo }
  /** The provider refuses to answer: it does not know the job. */
  | { readonly kind: 'refused'; readonly status: number }
  /** No usable answer; to be retried after the time that the provider asked for. */
  | { readonly kind: 'unclear'; readonly waitMs: number }

/** Of an error answer, as much as is read of it. */
const ERROR_BYTES_MAX = 65_536
/** Those whose answer does not change with time. An account that is refused today may be in order tomorrow. */
const FINAL: ReadonlySet<FaultOwner> = new Set(['request', 'context', 'route'])

/** Asks a provider for the state of one of its jobs. */
export async function videoState(
  transport: Transport,
  limits: VideoLimits,
  route: Route,
  upstreamId: string,
  requestId: string,
): Promise<VideoSight> {
  const { provider } = route
  const request = {
    ...getRequest(provider, askForState(route, upstreamId, requestId), limits, false),
    firstByteTimeoutMs: limits.videoPollTimeoutMs,
    idleTimeoutMs: limits.videoPollTimeoutMs,
    totalTimeoutMs: limits.videoPollTimeoutMs,
  }
  try {
    const reply = await callWhole(transport, request, limits.videoStatusBytesMax)
    const { status } = reply
    if (status >= 400 && FINAL.has(ownerOf(status, reply.body))) return { kind: 'refused', status }
    const video = status >= 200 && status < 300 ? readUpstreamVideo(reply.body, limits, upstreamId) : null
    if (video !== null) return { kind: 'seen', video }
    return { kind: 'unclear', waitMs: retryAfterMs(reply.headers, Date.now(), limits.retryAfterSecondsMax * 1000) }
  } catch (error) {
    if (!(error instanceof TransportFailure)) throw error
    return { kind: 'unclear', waitMs: 0 }
  }
}

/** The provider's job has ended, one way or the other. */
export function isOver({ state }: UpstreamVideo): boolean {
  return state === 'completed' || state === 'failed'
}

function ownerOf(status: number, body: Buffer): FaultOwner {
  return faultOf(status, readProviderError(body.toString('utf8', 0, ERROR_BYTES_MAX))).owner
}
