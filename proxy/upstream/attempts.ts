import { GatewayError } from '../../contract/errors/errors.ts'
import { readProviderError } from '../../contract/providers/providerError.ts'
import type { Registered, Route } from '../catalog/pricedItem.ts'
import { AnswerBody } from './answerBody.ts'
import { type AttemptPhase, assertAttempt, isCommitted } from './attemptPhase.ts'
import type { AttemptsOptions } from './attemptsOptions.ts'
import type { CanaryAttempt } from './canaryWatch.ts'
import { causeOf } from './faultCause.ts'
import {
  mayMoveOnAfterAnswer,
  mayMoveOnAfterFailure,
  mayMoveOnAfterStatus,
  mayReuseConnection,
} from './operationRules.ts'
import { OutputTimer } from './outputTimer.ts'
import { classifyRefusal, type Refusal, refusalOfRegistered } from './refusal.ts'
import { retryAfterMs } from './retryAfter.ts'
import {
  TransportFailure,
  type UpstreamCall,
  type UpstreamHeaders,
  type UpstreamListener,
} from './transport/transport.ts'

/** So short that its JSON is within all bounds of JSON that is parsed on the event loop. The rest of a longer one, an echo mostly, is not read. */
const ERROR_BODY_BYTES_MAX = 65_536

/** An answer with an error status, while it arrives. */
interface RefusedAnswer {
  readonly status: number
  readonly headers: UpstreamHeaders
  readonly body: AnswerBody
}

/**
 * One request over the routes that may serve it. Until `commit` a failure fails over to the next route, if the rule
 * of the operation allows it; after it every failure is final, because the client has seen output that another route would
 * repeat.
 */
export class Attempts implements UpstreamListener {
  private readonly options: AttemptsOptions
  private readonly deadlineMs: number
  private tried = 0
  private next = 1
  private route: Route
  private call: UpstreamCall | undefined
  private watched: CanaryAttempt | undefined
  /** A registered provider that called the request at fault; the routes of the catalog decide whether it was. */
  private accuser: CanaryAttempt | undefined
  private outputTimer: OutputTimer | undefined
  private phase: AttemptPhase = 'ready'
  private last = false
  private paused = false
  private resetRetried = false
  /** The error answer that arrives in phase `refusing`. */
  private refusal: RefusedAnswer | null = null

  constructor(options: AttemptsOptions) {
    this.options = options
    const [first] = options.routes
    if (first === undefined) throw new RangeError('a request needs a route')
    this.route = first
    this.deadlineMs = Date.now() + options.limits.totalTimeoutMs
  }

  start(): void {
    this.send(this.route, false)
  }

  /** The first real output arrived: from here on there is no failover. @param outputBytes of a whole answer */
  commit(outputBytes = 0): void {
    if (isCommitted(this.phase) || this.phase === 'over') return
    this.enter(this.phase === 'answered' ? 'complete' : 'committed')
    if (this.options.streamed === true) this.outputTimer?.again()
    else this.outputTimer?.stop()
    this.options.health.answers(this.route.id)
    this.accuser?.failed(false)
    this.watched?.onOutput(Date.now(), outputBytes)
    // A large answer is read elsewhere when it has ended, and commits after that.
    if (this.phase === 'complete') this.succeed()
  }

  /** The answer turned out to be unusable before the commit; the next route is tried. */
  reject(refusal: Refusal): void {
    if (this.phase === 'over' || isCommitted(this.phase)) return
    this.call?.cancel()
    this.options.onFault(this.route, faultText(refusal, 'unusable answer'))
    this.moveOn(refusal, mayMoveOnAfterAnswer(this.options.rule))
  }

  /** The attempt under way is the last one: its failure ends the request, because no client waits for another answer. */
  makeLast(): void {
    this.last = true
  }

  /** Output of a committed stream has arrived. @param outputBytes of the stream so far */
  noteOutput(outputBytes: number): void {
    if (this.phase === 'over' || this.phase === 'complete' || this.paused) return
    this.outputTimer?.again()
    this.watched?.onNextOutput(Date.now(), outputBytes)
  }

  pause(): void {
    this.paused = true
    this.outputTimer?.stop()
    this.watched?.onPaused(Date.now())
    this.call?.pause()
  }

  resume(): void {
    this.paused = false
    if (this.phase !== 'over' && this.phase !== 'complete') {
      this.outputTimer?.again()
      this.watched?.onResumed(Date.now())
    }
    this.call?.resume()
  }

  /** Gives a committed answer up because of a fault in it; the listener is not called any more. */
  breakOff(reason: string): void {
    if (this.phase === 'over') return
    this.options.onFault(this.route, reason)
    this.options.health.broke(this.route.id, Date.now(), this.options.accountId)
    this.watched?.failed(false)
    this.enter('over')
    this.outputTimer?.stop()
    this.call?.cancel()
  }

  /** Gives the request up; the listener is not called any more. */
  cancel(): void {
    if (this.phase === 'over') return
    const wasCommitted = isCommitted(this.phase)
    this.enter('over')
    this.outputTimer?.stop()
    if (!wasCommitted) this.options.health.undecided(this.route.id)
    this.watched?.givenUp(Date.now())
    this.call?.cancel()
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (this.phase === 'over') return
    try {
      if (status < 200 || status > 299) {
        this.enter('refusing')
        this.refusal = { status, headers, body: new AnswerBody() }
        return
      }
      this.enter('answering')
      this.options.listener.onAnswer(this.route, headers)
    } catch (error) {
      this.crashed(error)
    }
  }

  onData(bytes: Buffer): void {
    if (this.phase === 'over') return
    if (this.refusal !== null) {
      this.keepRefused(this.refusal, bytes)
      return
    }
    try {
      this.options.listener.onData(bytes)
    } catch (error) {
      this.crashed(error)
    }
  }

  onEnd(): void {
    if (this.phase === 'over') return
    this.outputTimer?.stop()
    if (this.refusal !== null) this.refused(this.refusal)
    else if (this.phase === 'committed') this.ended('complete')
    else this.ended('answered')
  }

  private ended(phase: 'complete' | 'answered'): void {
    this.tell(() => {
      this.enter(phase)
      this.options.listener.onEnd()
      if (phase === 'complete' && this.phase === 'complete') this.succeed()
    })
  }

  private succeed(): void {
    this.options.health.succeeded(this.route.id)
    this.watched?.succeeded(Date.now())
  }

  onFailure(failure: TransportFailure): void {
    if (this.phase === 'over') return
    this.outputTimer?.stop()
    this.options.onFault(this.route, failure.message, causeOf(failure))
    if (isCommitted(this.phase)) {
      this.enter('over')
      this.watched?.failed(failure.kind === 'idle_timeout')
      this.tell(() => this.options.listener.onBroken(failure))
      return
    }
    const mayMoveOn = mayMoveOnAfterFailure(this.options.rule, failure.kind)
    // A kept-alive connection may have died unnoticed; the same route is retried once on a new one.
    if (failure.kind === 'reset' && mayMoveOn && !this.last && this.phase === 'asking' && !this.resetRetried) {
      this.resetRetried = true
      this.tell(() => this.send(this.route, true))
      return
    }
    const timedOut = failure.kind.endsWith('_timeout') && failure.kind !== 'connect_timeout'
    const error = new GatewayError(timedOut ? 'upstream_timeout' : 'upstream_unavailable', { cause: failure })
    this.watched?.failed(timedOut)
    this.moveOn({ error, elsewhere: true, routeFault: true, retryAfterMs: 0, perhapsRequest: false }, mayMoveOn)
  }

  private keepRefused(refusal: RefusedAnswer, bytes: Buffer): void {
    const room = ERROR_BODY_BYTES_MAX - refusal.body.length
    refusal.body.add(bytes.subarray(0, room), ERROR_BODY_BYTES_MAX)
    if (bytes.length <= room) return
    this.call?.cancel()
    this.refused(refusal)
  }

  private refused({ status, headers, body: bytes }: RefusedAnswer): void {
    const { rule, classify, limits, onFault } = this.options
    const waitMsMax = limits.retryAfterSecondsMax * 1000
    const body = bytes.take().toString('utf8')
    const stated = readProviderError(body)
    const headMs = retryAfterMs(headers, Date.now(), waitMsMax)
    const waitMs = headMs > 0 ? headMs : Math.min(stated.retryAfterMs ?? 0, waitMsMax)
    const refusal = classify?.(status, body, waitMs) ?? classifyRefusal(status, stated, waitMs, rule.ownStatus)
    onFault(this.route, faultText(refusal, `status ${status}`))
    this.moveOn(refusal, mayMoveOnAfterStatus(rule, status))
  }

  private enter(phase: AttemptPhase): void {
    assertAttempt(this.phase, phase)
    this.phase = phase
  }

  /** Calls the listener; otherwise the transport would have to handle its exceptions. */
  private tell(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.crashed(error)
    }
  }

  private crashed(error: unknown): void {
    this.cancel()
    this.options.listener.onCrashed(error)
  }

  private moveOn(answered: Refusal, mayMoveOn: boolean): void {
    const { health, routes, limits, listener, accountId } = this.options
    const nowMs = Date.now()
    this.outputTimer?.stop()
    const refusal = this.route.registered === undefined ? answered : refusalOfRegistered(answered)
    if (answered.elsewhere) this.watched?.failed(false)
    else this.accuser = this.watched
    const coolMs = refusal.accountFault === undefined ? refusal.retryAfterMs : limits.accountFaultCoolMs
    if (coolMs > 0) health.coolDown(this.route.id, nowMs + coolMs)
    if (refusal.routeFault) health.failed(this.route.id, nowMs, refusal.perhapsRequest ? accountId : undefined)
    else health.undecided(this.route.id)
    let other = routes[this.next]
    while (other !== undefined && health.isDisabled(other.id)) other = routes[++this.next]
    const left = this.tried < limits.routeAttemptsMax && nowMs < this.deadlineMs
    if (other !== undefined && refusal.elsewhere && mayMoveOn && left && !this.last) {
      this.next++
      this.tell(() => this.send(other, false))
      return
    }
    this.enter('over')
    this.tell(() => listener.onRefused(refusal.error))
  }

  private send(route: Route, fresh: boolean): void {
    const { transport, health, makeRequest, listener, rule, watch, streamed } = this.options
    this.enter('asking')
    this.route = route
    this.watched = watch?.begin(route, streamed === true, Date.now())
    this.tried++
    this.refusal = null
    listener.onAttempt(route)
    health.started(route.id)
    // A kept connection may turn out to be dead after the request was sent; whether the provider took the request is unknown
    // then.
    const onNew = fresh || !mayReuseConnection(rule)
    const request = makeRequest(route, Math.max(1, this.deadlineMs - Date.now()), onNew)
    request.attempt = this.tried
    this.call = transport.send(request, this)
    if (route.registered !== undefined) this.awaitOutput(route.registered)
  }

  private awaitOutput(registered: Registered): void {
    const { limits, streamed, outputTokensMax = 0 } = this.options
    this.outputTimer = new OutputTimer(registered, streamed ? 0 : outputTokensMax, limits.totalTimeoutMs, () => {
      this.call?.cancel()
      this.onFailure(new TransportFailure(isCommitted(this.phase) ? 'idle_timeout' : 'first_byte_timeout'))
    })
  }
}

function faultText({ accountFault }: Refusal, otherwise: string): string {
  return accountFault === undefined ? otherwise : `account at the provider: ${accountFault}`
}
