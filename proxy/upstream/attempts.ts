import { connectionFault } from '../../contract/net/connectionFault.ts'
import type { Registered, Route } from '../catalog/pricedItem.ts'
import { type AttemptPhase, assertAttempt, isCommitted } from './attemptPhase.ts'
import type { AttemptsOptions } from './attemptsOptions.ts'
import type { CanaryAttempt } from './canaryWatch.ts'
import { type KeyPermit, keyPermitOf, potOf } from './keyPermit.ts'
import {
  mayMoveOnAfterAnswer,
  mayMoveOnAfterFailure,
  mayMoveOnAfterStatus,
  mayReuseConnection,
} from './operationRules.ts'
import { OutputTimer } from './outputTimer.ts'
import { faultText, type Refusal, refusalOfFailure, refusalOfRegistered } from './refusal.ts'
import { RefusedAnswer } from './refusedAnswer.ts'
import { RouteTurns, type Turn } from './routeTurns.ts'
import {
  TransportFailure,
  type UpstreamCall,
  type UpstreamHeaders,
  type UpstreamListener,
} from './transport/transport.ts'

/**
 * One request over the routes that may serve it. Until `commit` a failure fails over to the next route, if the rule
 * of the operation allows it; after it every failure is final, because the client has seen output that another route would
 * repeat.
 */
export class Attempts implements UpstreamListener {
  /** Of the quotas of keys; undefined where no key has one. */
  readonly permit: KeyPermit | undefined
  private readonly options: AttemptsOptions
  readonly turns: RouteTurns
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
    this.turns = new RouteTurns(options)
    this.permit = keyPermitOf(options)
  }

  start(): void {
    this.ask(this.route)
  }

  /** The first real output arrived: from here on there is no failover. @param outputBytes of a whole answer */
  commit(outputBytes = 0): void {
    if (isCommitted(this.phase) || this.phase === 'over') return
    this.enter(this.phase === 'answered' ? 'complete' : 'committed')
    if (this.options.streamed === true) this.outputTimer?.again()
    else this.outputTimer?.stop()
    const { health } = this.options
    health.answers(this.route.id)
    this.turns.noteOutput(this.route)
    if (health.keys.anyOut) health.keys.worked(this.route, Date.now())
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

  /** The answer has ended itself. That of its body is awaited for a short time, for the sake of its connection. */
  letGo(withinMs: number): void {
    if (this.phase !== 'committed') return
    this.outputTimer?.stop()
    this.succeed()
    this.call?.letGo(withinMs)
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
    this.refusal?.stop()
    if (!wasCommitted) this.options.health.undecided(this.route.id)
    this.watched?.givenUp(Date.now())
    this.call?.cancel()
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (this.phase === 'over') return
    try {
      if (status < 200 || status > 299) {
        this.enter('refusing')
        this.refusal = new RefusedAnswer(status, headers, this.options.limits.errorBodyMs, () => this.refuseEarly())
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
      if (!this.refusal.add(bytes)) this.refuseEarly()
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
    if (this.refusal !== null) return this.refused(this.refusal)
    const phase = this.phase === 'committed' ? 'complete' : 'answered'
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
    // The status of an error answer tells more than how its body broke off.
    if (this.refusal !== null) return this.refused(this.refusal)
    this.options.onFault(this.route, failure.message, connectionFault(failure.cause))
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
    this.watched?.failed(timedOut)
    this.moveOn(refusalOfFailure(failure, timedOut), mayMoveOn)
  }

  private refuseEarly(): void {
    this.call?.cancel()
    if (this.refusal !== null) this.refused(this.refusal)
  }

  private refused(answer: RefusedAnswer): void {
    const refusal = answer.read(this.options)
    this.options.onFault(this.route, faultText(refusal, `status ${answer.status}`))
    this.moveOn(refusal, mayMoveOnAfterStatus(this.options.rule, answer.status))
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
    const nowMs = Date.now()
    this.outputTimer?.stop()
    const refusal = this.route.registered === undefined ? answered : refusalOfRegistered(answered)
    if (answered.elsewhere) this.watched?.failed(false)
    else this.accuser = this.watched
    // A provider that answers an error has used nothing; whether one that is silent has is not known.
    this.permit?.end(this.refusal === null ? undefined : 0)
    this.follow(this.turns.after(this.route, refusal, mayMoveOn && !this.last, nowMs))
  }

  private follow({ route, error }: Turn): void {
    if (route !== undefined) {
      this.tell(() => this.ask(route))
      return
    }
    this.enter('over')
    this.tell(() => this.options.listener.onRefused(error))
  }

  private ask(route: Route): void {
    const pot = this.permit === undefined ? undefined : potOf(route)
    if (pot === undefined) {
      this.send(route, false)
      return
    }
    this.enter('choosing')
    this.route = route
    this.permit?.take(pot, {
      isWanted: () => this.phase !== 'over',
      onPermit: () => this.send(route, false),
      onFull: (waitMs) => this.follow(this.turns.afterFull(route, waitMs, !this.last, Date.now())),
      onCrashed: (error) => this.crashed(error),
    })
  }

  private send(route: Route, fresh: boolean): void {
    const { transport, health, makeRequest, listener, rule, watch, streamed } = this.options
    this.enter('asking')
    this.route = route
    this.watched = watch?.begin(route, streamed === true, Date.now())
    this.turns.begin(route)
    this.refusal = null
    listener.onAttempt(route)
    health.started(route.id)
    if (health.keys.anyOut) health.keys.started(route, Date.now())
    // A kept connection may turn out to be dead after the request was sent; whether the provider took the request is unknown
    // then.
    const onNew = fresh || !mayReuseConnection(rule)
    const request = makeRequest(route, this.turns.leftMs(Date.now()), onNew)
    request.attempt = this.turns.begun
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
