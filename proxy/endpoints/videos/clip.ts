import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Provider } from '../../catalog/pricedItem.ts'
import { askForClip } from '../../dialects/openai/openaiVideos.ts'
import type { DrainListener, Exchange, GoneListener } from '../../server/exchange.ts'
import { getRequest } from '../../upstream/providerRequest.ts'
import { isRedirect, redirected } from '../../upstream/redirect.ts'
import type {
  Transport,
  TransportFailure,
  UpstreamCall,
  UpstreamHeaders,
  UpstreamListener,
  UpstreamRequest,
} from '../../upstream/transport/transport.ts'
import type { VideoLimits } from './limits.ts'

const NOTHING = Buffer.alloc(0)
const CLIP_TYPE = 'video/mp4'
const TYPE = /^(?:video\/[a-z0-9.+-]{1,64}|application\/octet-stream)$/

/** Types of answers about a clip, such as its address. */
const NO_CLIP = /^(?:text\/|application\/(?:problem\+)?json$)/

export interface ClipParts {
  readonly exchange: Exchange
  readonly transport: Transport
  readonly limits: VideoLimits
  readonly provider: Provider
  readonly upstreamId: string
  /** Called once when the clip has been sent, or will not be. */
  readonly done: () => void
  readonly onFault: (reason: string) => void
}

/** Relays a finished clip from the provider to a client; a slow client pauses the provider (backpressure). */
export class ClipRelay implements UpstreamListener, GoneListener, DrainListener {
  private readonly parts: ClipParts
  private call: UpstreamCall | undefined
  private over = false
  private begun = false
  private request: UpstreamRequest | undefined
  private redirects = 0

  constructor(parts: ClipParts) {
    this.parts = parts
  }

  start(): void {
    const { exchange, limits, provider, upstreamId } = this.parts
    const asked = askForClip({ provider }, upstreamId, exchange.id)
    exchange.setGoneListener(this)
    this.send(getRequest(provider, asked, limits, true))
    if (exchange.gone) this.onGone()
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (this.over) return
    if (isRedirect(status) && this.redirects < this.parts.limits.videoRedirectsMax) {
      this.follow(headers.get('location'), status)
      return
    }
    const type = (headers.get('content-type') ?? '').replace(/;.*/s, '').trim().toLowerCase()
    if (status !== 200 || headers.unreadable === true || NO_CLIP.test(type)) {
      this.refuse(status)
      return
    }
    this.begun = true
    this.parts.exchange.beginStream([], TYPE.test(type) ? type : CLIP_TYPE)
  }

  onData(bytes: Buffer): void {
    if (this.over || !this.begun) return
    if (this.parts.exchange.write(bytes)) return
    this.call?.pause()
    this.parts.exchange.setDrainListener(this)
  }

  onDrain(): void {
    this.call?.resume()
  }

  onEnd(): void {
    if (this.over) return
    this.finish()
    this.parts.exchange.end(NOTHING)
  }

  onFailure(failure: TransportFailure): void {
    if (this.over) return
    this.finish()
    this.parts.onFault(failure.message)
    // The client has only a part of the clip, and a regular end of the answer would look like the whole.
    if (this.begun) this.parts.exchange.breakOff()
    else this.parts.exchange.fail(undelivered(failure.kind.endsWith('_timeout') ? 'upstream_timeout' : undefined))
  }

  onGone(): void {
    if (this.over) return
    this.finish()
    this.call?.cancel()
  }

  private send(request: UpstreamRequest): void {
    this.request = request
    this.call = this.parts.transport.send(request, this)
  }

  private follow(location: string | undefined, status: number): void {
    const next = this.request && redirected(this.request, location)
    if (next === undefined) {
      this.refuse(status)
      return
    }
    this.redirects++
    this.call?.cancel()
    this.send({ ...next, requestId: this.parts.exchange.id })
  }

  private refuse(status: number): void {
    this.finish()
    this.call?.cancel()
    this.parts.onFault(`status ${status}`)
    const gone = status === 404 || status === 410
    this.parts.exchange.fail(gone ? new GatewayError('video_expired') : undelivered())
  }

  private finish(): void {
    this.over = true
    this.parts.done()
  }
}

function undelivered(code: 'upstream_timeout' | 'upstream_unavailable' = 'upstream_unavailable'): GatewayError {
  const message = 'The provider did not deliver the clip. Fetch it again while it is held; that costs nothing.'
  return new GatewayError(code, { message })
}
