import { answerError } from '../../../contract/api/answerError.ts'
import { VideoState, videoIdOf } from '../../../contract/catalog/video.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { UnitRates } from '../../../contract/money/unitRates.ts'
import { ownAddress } from '../../../contract/net/ownAddress.ts'
import { WakeableSleep } from '../../../contract/std/wakeableSleep.ts'
import type { Principal } from '../../access/principal.ts'
import { settlementBytes } from '../../admission/settlementText.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import {
  askForVideo,
  readUpstreamVideo,
  type UpstreamVideo,
  type VideoOrder,
} from '../../dialects/openai/openaiVideos.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { parseAnswer } from '../../json/jsonObject.ts'
import { type Exchange, JSON_TYPE } from '../../server/exchange.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import { postRequest } from '../../upstream/providerRequest.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import { NO_BILL } from '../run/bill.ts'
import type { HoldLife } from '../run/holdLife.ts'
import type { Metered } from '../run/metered.ts'
import { namesHeader } from '../run/namesHeader.ts'
import type { Outcome } from '../run/outcome.ts'
import { isDecided } from '../run/phase.ts'
import type { ProviderCall } from '../run/providerCall.ts'
import { Run } from '../run/run.ts'
import type { RunListener } from '../run/runListener.ts'
import type { RunServices } from '../run/services.ts'
import { WholeCall, type WholeListener } from '../run/wholeCall.ts'
import { billOfClip } from './clipBill.ts'
import { takenJobJson } from './jobJson.ts'
import type { FollowedVideo, VideoJobs, VideoRunOrder } from './jobs.ts'
import { PollInterval } from './pollInterval.ts'
import { isOver, videoState } from './videoState.ts'
import type { VideoJobFields, Written } from './videoStore.ts'

const LOST = 'gateway_restart'

/**
 * The life of a video job: the provider gets the order once, then its job is polled until the clip is made, which is when it
 * is charged. The state is written to Redis before anything acts on it: a job whose hold is gone can no longer become
 * "made", and the settlement of a made job is stored with it before it is sent. A provider makes the clip whether or not the
 * client waits for the job's id, so a job continues without its client, and its receipt names it.
 */
export class VideoRun implements RunListener, WholeListener, FollowedVideo {
  private readonly run: Run
  private readonly call: ProviderCall
  private readonly jobs: VideoJobs
  private readonly rates: UnitRates
  private readonly seconds: number
  private readonly videoId: string
  private readonly readToken: string
  private readonly unknown: readonly string[]
  private readonly pause = new WakeableSleep()
  private readonly deadlineMs: number
  private job: VideoJobFields
  private state: VideoState = VideoState.QUEUED
  /** The order for the provider; released once the provider has taken the job, because of the image in it. */
  private order: VideoOrder | null
  private upstreamId = ''
  /** The provider is not polled again before this time. */
  private askAgainMs = Number.POSITIVE_INFINITY
  /** The process leaves: nothing is waited for any more. */
  private leaving = false
  /** The settlement of the clip is stored with the job, and is being delivered. */
  private made = false

  constructor(exchange: Exchange, principal: Principal, order: VideoRunOrder, services: RunServices) {
    const { admitted, job, jobs, readToken } = order
    const { model, routes, holdUnits: wantUnits } = admitted
    const metered: Metered = { endpoint: 'videos', model, routes, wantUnits, leastUnits: wantUnits, streamed: false }
    this.run = new Run(exchange, principal, metered, services, this)
    this.call = new WholeCall(this.run, this, () => services.limits.videoStatusBytesMax).call
    this.rates = admitted.rates
    this.seconds = admitted.order.seconds
    this.job = job
    this.jobs = jobs
    this.readToken = readToken
    this.unknown = admitted.unknown
    this.order = admitted.order
    this.videoId = videoIdOf(exchange.id)
    const { videoJobMaxMs, holdAgeMaxMs } = services.limits
    this.deadlineMs = performance.now() + Math.min(videoJobMaxMs, holdAgeMaxMs / 2)
  }

  /** The hold of the job; it is taken later. */
  get hold(): HoldLife {
    return this.run.hold
  }

  start(): void {
    this.jobs.add(this.videoId, this)
    this.run.start()
  }

  wake(): void {
    if (performance.now() >= this.askAgainMs) this.pause.wake()
  }

  serve(heldUnits: number): void {
    this.job = { ...this.job, holdUnits: heldUnits }
    this.call.start()
  }

  makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    if (this.order === null) throw new Error('a provider has taken the job already')
    const asked = askForVideo(route, this.order, this.run.hold.requestId)
    return postRequest(route.provider, asked, this.run.services.limits, totalTimeoutMs, fresh)
  }

  onWhole({ bytes }: AnswerJson): void {
    const video = readUpstreamVideo(bytes, this.run.services.limits)
    const { route } = this.call
    if (video === null || route === null) {
      this.call.reject(refusalOfError(answerError(parseAnswer(bytes, this.run.services.limits) ?? {})))
      return
    }
    this.call.commit()
    this.order = null
    this.upstreamId = video.id
    this.taken(route, video).catch((error: unknown) => this.crashFollowed(error))
  }

  onRefused(error: GatewayError): void {
    // Before the client gets the answer, so that its next request finds the place free.
    this.forget()
    this.run.refuse(error)
  }

  onCut(): void {
    this.leaving = true
    this.pause.wake()
    if (isDecided(this.run.phase) || this.upstreamId !== '') return
    this.run.cutOff(LOST)
    this.forget()
    this.run.fail(new GatewayError('restarting'))
  }

  // When the charge is not certain yet, the next read of the job asks the book for the outcome.
  onSettled(outcome: Outcome, chargedUnits: number): void | Promise<void> {
    if (!this.made) return
    this.job = { ...this.job, chargeUnits: chargedUnits, receiptJson: outcome.receipt(chargedUnits) }
    return this.writeSurely(VideoState.COMPLETED).then(() => undefined)
  }

  onDone(): void {
    this.jobs.remove(this.videoId)
    if (this.upstreamId === '') this.forget()
  }

  private async taken(route: Route, video: UpstreamVideo): Promise<void> {
    const { id: provider, key } = route.provider
    this.job = { ...this.job, provider, providerKey: key?.id ?? '', upstreamId: video.id }
    const written = await this.note(video)
    if (written === 'no_hold') {
      this.run.fail(new GatewayError(LOST))
      await this.giveUp()
      return
    }
    const { exchange, services } = this.run
    const { limits, publicUrl } = services
    const baseUrl = ownAddress(publicUrl, exchange.head.host)
    const body = takenJobJson({ job: this.job, state: this.state, madeAtMs: 0 }, limits, baseUrl, this.readToken)
    exchange.answer(202, JSON_TYPE, body, ['location', `/v1/videos/${this.videoId}`, ...namesHeader(this.unknown)])
    await this.follow(route, video)
  }

  /** Asks the provider until the job has ended. */
  private async follow(route: Route, first: UpstreamVideo): Promise<void> {
    const { services, hold } = this.run
    const { transport, limits, health } = services
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

      const sight = await videoState(transport, limits, health.keys.current(route), this.upstreamId, hold.requestId)
      if (this.leaving) return this.giveUp()
      waitMs = sight.kind === 'unclear' ? sight.waitMs : 0
      refusals = sight.kind === 'refused' ? refusals + 1 : 0
      if (sight.kind !== 'seen') services.onRouteFault(route, `video state ${sight.kind}`)
      if (refusals >= limits.videoPollRefusalsMax) return this.fail('The provider does not know the job any more.')
      if (sight.kind === 'seen') video = sight.video
      if (!isOver(video) && (await this.note(video)) === 'no_hold') return this.giveUp()
    }
  }

  /** Records the progress of the job; while Redis is down this can wait. @returns undefined when nothing could be written */
  private async note(video: UpstreamVideo): Promise<Written | undefined> {
    this.state = video.state === 'queued' ? VideoState.QUEUED : VideoState.IN_PROGRESS
    this.job = { ...this.job, progress: isOver(video) ? 0 : video.progress }
    return this.jobs.store.write(this.job, this.state).catch(() => undefined)
  }

  /** The clip is made: its settlement is noted, then delivered. */
  private async finish(reportedSeconds: number | null): Promise<void> {
    const bill = billOfClip(this.rates, reportedSeconds, this.seconds)
    const outcome = this.run.decide('ok', bill, null)
    this.job = {
      ...this.job,
      progress: 100,
      madeSeconds: bill.quantity,
      chargeUnits: outcome.chargeUnits,
      settlement: settlementBytes(outcome.settlement),
      receiptJson: outcome.receipt(outcome.chargeUnits),
    }
    if ((await this.writeSurely(VideoState.MADE)) !== 'written') return this.giveUp()
    this.made = true
    this.run.deliver(outcome)
  }

  /** A fault of the gateway itself, once the provider has taken the job: it has failed, unless it is settled already. */
  private crashFollowed(error: unknown): void {
    const { run } = this
    if (run.phase === 'settling' || run.phase === 'done') {
      run.crash(error)
      return
    }
    run.services.onCrash(error, run.hold.requestId)
    if (!run.exchange.begun) run.fail(new GatewayError('internal_error'))
    this.fail('The gateway failed.').catch((again: unknown) => run.crash(again))
  }

  private async fail(message: string): Promise<void> {
    this.run.beginEnding()
    this.job = { ...this.job, errorMessage: message }
    await this.writeSurely(VideoState.FAILED)
    this.run.settle('failed', NO_BILL, 'video_failed')
  }

  /** The gateway leaves, or has lost the hold: nothing is charged. */
  private async giveUp(): Promise<void> {
    this.run.beginEnding()
    await this.jobs.store.write(this.job, VideoState.LOST).catch(() => undefined)
    this.run.settle('cut', NO_BILL, LOST)
  }

  /** Writes a state that others act on, with retries while Redis is down. @returns undefined when time ran out */
  private async writeSurely(state: VideoState): Promise<Written | undefined> {
    for (;;) {
      try {
        const written = await this.jobs.store.write(this.job, state)
        if (written === 'written') this.state = state
        return written
      } catch {
        if (this.leaving || performance.now() >= this.deadlineMs) return undefined
        await this.pause.sleep(this.run.services.limits.videoPollMinMs)
      }
    }
  }

  private forget(): void {
    this.jobs.store.drop(this.job).catch(() => undefined)
  }
}
