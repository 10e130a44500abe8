import { VideoState, videoIdOf } from '../../../contract/catalog/video.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { UnitRates } from '../../../contract/money/unitRates.ts'
import { ownAddress } from '../../../contract/net/ownAddress.ts'
import { WakeableSleep } from '../../../contract/std/wakeableSleep.ts'
import type { Principal } from '../../access/principal.ts'
import type { Ending } from '../../admission/settlements.ts'
import { settlementBytes } from '../../admission/settlementText.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import {
  askForVideo,
  readUpstreamVideo,
  type UpstreamVideo,
  type VideoOrder,
} from '../../dialects/openai/openaiVideos.ts'
import type { VideoJobFields, Written } from '../../jobs/videoStore.ts'
import { type Exchange, JSON_TYPE } from '../../server/exchange.ts'
import { AnswerBody } from '../../upstream/answerBody.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import { postRequest } from '../../upstream/providerRequest.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import { type Bill, NO_BILL } from '../run/bill.ts'
import { MeteredRun } from '../run/meteredRun.ts'
import type { RunServices } from '../run/services.ts'
import { billOfClip } from './clipBill.ts'
import { takenJobJson } from './jobJson.ts'
import type { FollowedVideo, VideoJobs, VideoRunOrder } from './jobs.ts'
import { PollInterval } from './pollInterval.ts'
import { isOver, videoState } from './videoState.ts'

const LOST = 'gateway_restart'

/**
 * The life of a video job: the provider is asked once, then about the state of its job until the clip is made, which is
 * when it is charged. The state goes to Redis before anybody acts on it: a job whose hold is gone can not be made any
 * more, and the settlement of one that is made stands beside it before it is sent.
 */
export class VideoRun extends MeteredRun implements FollowedVideo {
  private readonly jobs: VideoJobs
  private readonly rates: UnitRates
  private readonly seconds: number
  private readonly videoId: string
  private readonly readToken: string
  private readonly pause = new WakeableSleep()
  private readonly deadlineMs: number
  private job: VideoJobFields
  private state: VideoState = VideoState.QUEUED
  /** What the provider is asked; let go once it has taken the job, because of the image in it. */
  private order: VideoOrder | null
  private route: Route | null = null
  private readonly body = new AnswerBody()
  private upstreamId = ''
  /** Before that the provider is not asked again, whoever wants to know. */
  private askAgainMs = Number.POSITIVE_INFINITY
  /** The process leaves: nothing is waited for any more. */
  private leaving = false
  /** The settlement of the clip is noted beside the job, and on its way. */
  private made = false
  private delivered = false

  constructor(exchange: Exchange, principal: Principal, order: VideoRunOrder, services: RunServices) {
    const { admitted, job, jobs, readToken } = order
    const { model, routes, holdUnits } = admitted
    super(
      exchange,
      principal,
      { endpoint: 'videos', model, routes, wantUnits: holdUnits, leastUnits: holdUnits, streamed: false },
      services,
    )
    this.rates = admitted.rates
    this.seconds = admitted.order.seconds
    this.job = job
    this.jobs = jobs
    this.readToken = readToken
    this.order = admitted.order
    this.videoId = videoIdOf(this.requestId)
    const { videoJobMaxMs, holdAgeMaxMs } = services.limits
    this.deadlineMs = performance.now() + Math.min(videoJobMaxMs, holdAgeMaxMs / 2)
  }

  override start(): void {
    this.jobs.add(this.videoId, this)
    super.start()
  }

  wake(): void {
    if (performance.now() >= this.askAgainMs) this.pause.wake()
  }

  protected override held(heldUnits: number): void {
    this.job = { ...this.job, holdUnits: heldUnits }
  }

  override onAttempt(route: Route): void {
    super.onAttempt(route)
    this.route = route
    this.body.clear()
  }

  protected makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    if (this.order === null) throw new Error('a provider has taken the job already')
    const asked = askForVideo(route, this.order, this.requestId)
    return postRequest(route.provider, asked, this.services.limits, totalTimeoutMs, fresh)
  }

  protected answerBegins(headers: UpstreamHeaders): void {
    if (headers.unreadable === true) this.attempts?.reject(refusalOfError(null))
  }

  onData(bytes: Buffer): void {
    if (this.ending) return
    this.noteFirstByte()
    if (!this.body.add(bytes, this.services.limits.videoStatusBytesMax)) this.attempts?.reject(refusalOfError(null))
  }

  onEnd(): void {
    if (this.ending) return
    const video = readUpstreamVideo(this.body.take())
    if (video === null || this.route === null) {
      this.attempts?.reject(refusalOfError(null))
      return
    }
    this.attempts?.commit()
    this.order = null
    this.upstreamId = video.id
    this.taken(this.route, video).catch((error: unknown) => this.onCrashed(error))
  }

  onBroken(): void {
    // The commit is the last thing that happens to the provider's answer, so nothing can break after it.
  }

  // A provider makes the clip whether or not anybody waits for the job's id, so the job goes on, and its receipt names
  // it. Before the hold is answered there is nothing to end yet; its answer finds the client gone.
  onGone(): void {}

  override onRefused(error: GatewayError): void {
    // Before the client hears of it, so that its next request finds the place free.
    this.forget()
    super.onRefused(error)
  }

  override onCrashed(error: unknown): void {
    if (this.upstreamId === '') {
      super.onCrashed(error)
      return
    }
    this.services.onCrash(error, this.requestId)
    if (this.delivered) this.close()
    else this.fail('The gateway failed.').catch(() => this.settle('failed', NO_BILL, 'internal_error'))
  }

  cut(): void {
    this.leaving = true
    this.pause.wake()
    if (this.ending || this.upstreamId !== '') return
    this.cutOff(LOST)
    this.forget()
    this.failWith(new GatewayError('restarting'))
  }

  onSettled(chargedUnits: number): void {
    if (!this.made) {
      this.close()
      return
    }
    this.job = { ...this.job, chargeUnits: chargedUnits, receiptJson: this.receipt(chargedUnits) }
    this.writeSurely(VideoState.COMPLETED).finally(() => this.close())
  }

  // A charge that is still on its way is looked after without this run; the next read of the job asks how it went.
  onSettleDelayed(givenUp: boolean): void {
    if (this.made && givenUp) this.writeSurely(VideoState.LOST).finally(() => this.close())
    else this.close()
  }

  protected override deliver(ending: Ending): void {
    this.delivered = true
    super.deliver(ending)
  }

  protected override close(): void {
    super.close()
    this.jobs.remove(this.videoId)
    if (this.upstreamId === '') this.forget()
  }

  protected billOfPart(): Bill {
    return NO_BILL
  }

  protected override faultEvents(): string {
    return ''
  }

  private async taken(route: Route, video: UpstreamVideo): Promise<void> {
    this.job = { ...this.job, provider: route.provider.id, upstreamId: video.id }
    const written = await this.note(video)
    if (written === 'no_hold') {
      this.failWith(new GatewayError(LOST))
      await this.giveUp()
      return
    }
    const { limits, publicUrl } = this.services
    const baseUrl = ownAddress(publicUrl, this.exchange.head.host)
    const body = takenJobJson({ job: this.job, state: this.state, madeAtMs: 0 }, limits, baseUrl, this.readToken)
    this.exchange.answer(202, JSON_TYPE, body, ['location', `/v1/videos/${this.videoId}`])
    await this.follow(route, video)
  }

  /** Asks the provider until the job has ended. */
  private async follow(route: Route, first: UpstreamVideo): Promise<void> {
    const { transport, limits } = this.services
    const pace = new PollInterval(limits)
    let video = first
    let refusals = 0
    let waitMs = 0
    for (;;) {
      if (video.state === 'completed') return this.finish(video.seconds)
      if (video.state === 'failed') return this.fail(video.error)
      const leftMs = this.deadlineMs - performance.now()
      if (leftMs <= 0) return this.fail('The provider took too long.')
      this.askAgainMs = performance.now() + Math.max(limits.videoPollMinMs, waitMs)
      if (!this.leaving) await this.pause.sleep(Math.min(leftMs, pace.next(waitMs)))
      this.askAgainMs = Number.POSITIVE_INFINITY
      if (this.leaving) return this.giveUp()

      const sight = await videoState(transport, limits, route, this.upstreamId, this.requestId)
      if (this.leaving) return this.giveUp()
      waitMs = sight.kind === 'unclear' ? sight.waitMs : 0
      refusals = sight.kind === 'refused' ? refusals + 1 : 0
      if (sight.kind !== 'seen') this.services.onRouteFault(route, `video state ${sight.kind}`)
      if (refusals >= limits.videoPollRefusalsMax) return this.fail('The provider does not know the job any more.')
      if (sight.kind === 'seen') video = sight.video
      if (!isOver(video) && (await this.note(video)) === 'no_hold') return this.giveUp()
    }
  }

  /** Notes that the job goes on; while Redis is away that has time. @returns undefined when nothing could be written */
  private async note(video: UpstreamVideo): Promise<Written | undefined> {
    this.state = video.state === 'queued' ? VideoState.QUEUED : VideoState.IN_PROGRESS
    this.job = { ...this.job, progress: isOver(video) ? 0 : video.progress }
    return this.jobs.store.write(this.job, this.state).catch(() => undefined)
  }

  /** The clip is made: its settlement is noted, then delivered. */
  private async finish(reportedSeconds: number | null): Promise<void> {
    const bill = billOfClip(this.rates, reportedSeconds, this.seconds)
    const ending = this.decide('ok', bill, null)
    this.job = {
      ...this.job,
      progress: 100,
      madeSeconds: bill.quantity,
      chargeUnits: ending.chargeUnits,
      settlement: settlementBytes(ending.settlement),
      receiptJson: this.receipt(ending.chargeUnits),
    }
    if ((await this.writeSurely(VideoState.MADE)) !== 'written') return this.giveUp()
    this.made = true
    this.deliver(ending)
  }

  private async fail(message: string): Promise<void> {
    this.ending = true
    this.job = { ...this.job, errorMessage: message }
    await this.writeSurely(VideoState.FAILED)
    this.settle('failed', NO_BILL, 'video_failed')
  }

  /** The gateway leaves, or has lost the hold: nothing is charged. */
  private async giveUp(): Promise<void> {
    this.ending = true
    await this.jobs.store.write(this.job, VideoState.LOST).catch(() => undefined)
    this.settle('cut', NO_BILL, LOST)
  }

  /** Writes a state that others act on, again and again while Redis is away. @returns undefined when time ran out */
  private async writeSurely(state: VideoState): Promise<Written | undefined> {
    for (;;) {
      try {
        const written = await this.jobs.store.write(this.job, state)
        if (written === 'written') this.state = state
        return written
      } catch {
        if (this.leaving || performance.now() >= this.deadlineMs) return undefined
        await this.pause.sleep(this.services.limits.videoPollMinMs)
      }
    }
  }

  private forget(): void {
    this.jobs.store.drop(this.job).catch(() => undefined)
  }
}
