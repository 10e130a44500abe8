import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { checkDeadlineIn } from '../../checkDeadlines.ts'
import { Attempts } from '../../upstream/attempts.ts'
import type { AttemptListener, AttemptsOptions, Classify } from '../../upstream/attemptsOptions.ts'
import { ruleOf } from '../../upstream/operationRules.ts'
import type { Refusal } from '../../upstream/refusal.ts'
import { traced } from '../../upstream/tracedAttempts.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { RunContext } from './context.ts'
import { isServed } from './phase.ts'
import { tierOf } from './tier.ts'

/** No route is at fault when the process cannot take another answer, and another route's answer would take as much. */
export const NO_MEMORY: Refusal = {
  error: new GatewayError('too_many_requests_open'),
  elsewhere: false,
  routeFault: false,
  retryAfterMs: 0,
  perhapsRequest: false,
}

/** The listener of a call to providers. After the end of the request is decided it is not called any more. */
export interface CallListener {
  makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest
  /** A route is asked; output of earlier routes is void. Phase `calling`. */
  onAttempt?(): void
  /** The route answers 2xx. Phase `answering`. */
  onAnswer(headers: UpstreamHeaders): void
  /** Bytes of the answer, never none, lent for the time of the call. Phase `answering` or `committed`. */
  onData(bytes: Buffer): void
  /** The answer is whole. Phase `answering` or `committed`. */
  onEnd(): void
  /** The answer broke off. Phase `committed`; absent when the listener needs no more of the answer by then. */
  onBroken?(): void
  /**
   * No route is left, or the request is at fault: another model may serve it, whose routes the run has when this returns true,
   * or a promise of its requests. Phase `calling` or `answering`; absent where none may.
   */
  fallBack?(error: GatewayError): boolean | Promise<void>
  /**
   * No route is left, or the request is at fault. Phase `calling` or `answering`; absent when nothing is charged in that
   * case.
   */
  onRefused?(error: GatewayError): void
  /** Nothing is awaited any more. */
  onClosed?(): void
  /** Sorts error answers; absent for those of a model's provider. */
  readonly classify?: Classify
  /** Tokens that an answer in one piece may have; absent where it is not priced by them. */
  readonly outputTokensMax?: number | undefined
}

/** The request that a call is made for. */
export interface CallingRun extends RunContext {
  /** The routes that may serve it, in the order they are tried; known once the hold is taken. */
  readonly routes: readonly Route[]
  /** Ends it without a charge, with an error for its client. */
  refuse(error: GatewayError): void
  /** Ends it by a fault of the gateway itself. */
  crash(error: unknown): void
}

/**
 * The call to a provider, over the routes that may serve a request: which provider answers, since when, whether the answer
 * counts, and whether a client still waits for it. It knows nothing of money.
 */
export class ProviderCall implements AttemptListener {
  /** The route that answers; null before one does. */
  route: Route | null = null
  /** From the request's arrival to the first output of a stream, or the first byte of another answer; 0 before there is any. */
  firstByteMs = 0
  /** The client has disconnected, and the answer is read all the same. */
  detached = false
  /** The route that is asked; null before any is. */
  asked: Route | null = null

  private readonly run: CallingRun
  private readonly listener: CallListener
  private attempts: Attempts | null = null
  private lingering: NodeJS.Timeout | undefined

  constructor(run: CallingRun, listener: CallListener) {
    this.run = run
    this.listener = listener
  }

  /** Attempts at providers, over all models that the request was sent to. */
  get tries(): number {
    return this.attempts?.turns.begun ?? 0
  }

  /** Asks the first route of the run: once when the request is held, and once for each model that it goes on to. */
  start(): void {
    const { services, metered, principal } = this.run
    const { listener } = this
    const options: AttemptsOptions = {
      transport: services.transport,
      health: services.health,
      limits: services.limits,
      rule: ruleOf(metered.endpoint, services.paid !== undefined),
      accountId: principal.accountId,
      permits: services.permits,
      tokensMax: metered.tokensMax,
      routes: this.run.routes,
      watch: services.canaries,
      streamed: metered.streamed,
      makeRequest: (route, totalTimeoutMs, fresh) => listener.makeRequest(route, totalTimeoutMs, fresh),
      listener: this,
      onFault: services.onRouteFault,
      classify: listener.classify,
      outputTokensMax: listener.outputTokensMax,
      earlier: this.attempts?.turns,
    }
    const trace = services.traces?.of(this.run.exchange)
    this.attempts = new Attempts(traced(options, trace, tierOf(this.run) === 'private'))
    this.attempts.start()
  }

  /**
   * The answer counts: from here on there is no failover.
   * @param outputBytes output that has arrived with it, where it is whole
   */
  commit(outputBytes = 0): void {
    this.run.enter('committed')
    if (this.run.metered.streamed) this.noteFirst()
    this.attempts?.commit(outputBytes)
  }

  /** The answer turned out to be unusable before it counts; the next route is asked. */
  reject(refusal: Refusal): void {
    this.attempts?.reject(refusal)
  }

  /**
   * Goes on with a whole answer when work on it elsewhere is done, unless the request is decided by then.
   * @param onBusy called where it cannot be done now; absent, the request is refused
   */
  later<Result>(
    work: Promise<Result>,
    onDone: (result: Result) => void,
    onBusy = (): void => this.reject(NO_MEMORY),
  ): void {
    work
      .then((result) => {
        if (isServed(this.run.phase)) onDone(result)
      })
      .catch((error: unknown) => {
        if (!isServed(this.run.phase)) return
        if (error instanceof GatewayError) onBusy()
        else this.run.crash(error)
      })
  }

  /** Gives the call up; its listener is not called any more. */
  cancel(): void {
    this.attempts?.cancel()
  }

  /** Gives up a committed answer because of a fault in it; its listener is not called any more. */
  breakOff(reason: string): void {
    this.attempts?.breakOff(reason)
  }

  /**
   * Output of a committed stream has arrived; the next one of a registered provider is timed.
   * @param outputBytes of the stream so far
   */
  noteOutput(outputBytes: number): void {
    this.attempts?.noteOutput(outputBytes)
  }

  pause(): void {
    this.attempts?.pause()
  }

  resume(): void {
    this.attempts?.resume()
  }

  /** Goes on without a client, over the attempt that is under way, if there is room. @returns whether it does */
  detach(): boolean {
    const { metrics, limits } = this.run.services
    if (metrics.detached >= limits.detachedRequestsMax) return false
    metrics.detached++
    this.detached = true
    this.attempts?.makeLast()
    return true
  }

  /** Waits a short time for the rest of the answer. @param onTimeout called if nothing has decided the request by then */
  linger(onTimeout: () => void): void {
    this.lingering = checkDeadlineIn(this.run.services.limits.lingerMs, () => {
      try {
        if (this.lingering !== undefined && isServed(this.run.phase)) onTimeout()
      } catch (error) {
        this.run.crash(error)
      }
    })
    this.attempts?.resume()
  }

  /**
   * Nothing is awaited any more; the place of a request without a client is free.
   * @param usedTokens undefined where they are not known
   */
  close(usedTokens: number | undefined): void {
    this.attempts?.permit?.end(usedTokens)
    this.attempts?.letGo(this.run.services.limits.lingerMs)
    clearTimeout(this.lingering)
    this.lingering = undefined
    this.listener.onClosed?.()
    if (!this.detached) return
    this.detached = false
    this.run.services.metrics.detached--
  }

  onAttempt(route: Route): void {
    if (this.run.phase !== 'calling') this.run.enter('calling')
    this.route = null
    this.firstByteMs = 0
    this.asked = route
    this.listener.onAttempt?.()
  }

  onAnswer(route: Route, headers: UpstreamHeaders): void {
    this.run.enter('answering')
    this.route = route
    this.listener.onAnswer(headers)
  }

  onData(bytes: Buffer): void {
    const { phase } = this.run
    if ((phase !== 'committed' && phase !== 'answering') || bytes.length === 0) return
    // A stream counts from its first output, which is what makes it count.
    if (this.firstByteMs === 0 && !this.run.metered.streamed) this.noteFirst()
    this.listener.onData(bytes)
  }

  private noteFirst(): void {
    this.firstByteMs = Math.max(1, Date.now() - this.run.exchange.startedAtMs)
  }

  onEnd(): void {
    if (isServed(this.run.phase)) this.listener.onEnd()
  }

  onBroken(): void {
    if (isServed(this.run.phase)) this.listener.onBroken?.()
  }

  onRefused(error: GatewayError): void {
    if (!isServed(this.run.phase)) return
    const mayGoOn = !this.detached && this.attempts?.turns.isOver(Date.now()) === false
    const next = mayGoOn && (this.listener.fallBack?.(error) ?? false)
    if (next === true) this.start()
    else if (next === false) this.refuse(error)
    else {
      const goOn = (): void => (this.detached ? this.refuse(error) : this.start())
      this.later(next, goOn, () => this.refuse(error))
    }
  }

  private refuse(error: GatewayError): void {
    if (this.listener.onRefused === undefined) this.run.refuse(error)
    else this.listener.onRefused(error)
  }

  onCrashed(error: unknown): void {
    this.run.crash(error)
  }
}
