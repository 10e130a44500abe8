import { newSignal } from '../../contract/std/signal.ts'
import type { Answer } from './answer.ts'
import { Connection } from './connection.ts'
import type { Guard } from './guard.ts'
import type { LoadLimits } from './limits.ts'
import { chargeUnits } from './receiptCheck.ts'
import type { RequestSource } from './requestSource.ts'
import { Schedule } from './schedule.ts'
import type { Tally } from './tally.ts'
import type { Target } from './target.ts'

const EXPIRE_MS = 250

/** How requests follow each other. */
export interface Pace {
  readonly connections: number
  /** No request begins, or is due, later than this. */
  readonly seconds: number
  readonly requests: number
  /** Requests a second that are due whatever the answers do; undefined has every connection send after each answer. */
  readonly rate: number | undefined
}

/** The parts that a run works with. */
export interface RunParts {
  readonly target: Target
  readonly source: RequestSource
  readonly guard: Guard
  /** All of them take every answer. */
  readonly tallies: readonly Tally[]
  readonly limits: LoadLimits
}

/** Sends requests at one pace until its time or their number is over and the last answers are in. It never rejects. */
export function runLoad(parts: RunParts, pace: Pace): Promise<void> {
  return new Run(parts, pace).finished
}

class Run {
  readonly finished: Promise<void>
  private readonly parts: RunParts
  private readonly pace: Pace
  private readonly startMs = performance.now()
  private readonly untilMs: number
  private readonly schedule: Schedule | undefined
  private readonly connections: Connection[] = []
  private readonly idle: Connection[] = []
  private readonly timer: NodeJS.Timeout
  private readonly end = newSignal()
  private begun = 0
  private expiredMs = 0

  constructor(parts: RunParts, pace: Pace) {
    this.parts = parts
    this.pace = pace
    this.untilMs = this.startMs + pace.seconds * 1_000
    const { rate, seconds, requests } = pace
    this.schedule = rate === undefined ? undefined : new Schedule(this.startMs, rate, seconds, requests)
    this.finished = this.end.promise
    this.timer = setInterval(() => this.tick(), parts.limits.loadTickMs)
    this.sendDue()
  }

  /** Sends as long as a request may begin and a connection is free. */
  private sendDue(): void {
    while (this.mayBegin()) {
      const connection = this.freeConnection()
      if (connection === undefined) return
      if (!this.parts.guard.begin()) {
        this.idle.push(connection)
        return
      }
      const dueMs = this.schedule?.dueMs(this.begun) ?? performance.now()
      this.begun++
      connection.send(this.parts.source.next(), dueMs)
    }
  }

  private mayBegin(): boolean {
    const nowMs = performance.now()
    if (this.schedule === undefined) return this.begun < this.pace.requests && nowMs < this.untilMs
    return this.begun < this.schedule.dueBy(nowMs) && nowMs < this.untilMs + this.parts.limits.loadDrainMs
  }

  /** Whether no request begins any more. */
  private isOver(): boolean {
    if (this.parts.guard.stopped !== '') return true
    const nowMs = performance.now()
    if (this.schedule === undefined) return this.begun >= this.pace.requests || nowMs >= this.untilMs
    return this.begun >= this.schedule.count || nowMs >= this.untilMs + this.parts.limits.loadDrainMs
  }

  private freeConnection(): Connection | undefined {
    const free = this.idle.pop()
    if (free !== undefined || this.connections.length >= this.pace.connections) return free
    const { target, limits } = this.parts
    const connection = new Connection(target, limits, (answer, from) => this.onAnswer(answer, from))
    this.connections.push(connection)
    return connection
  }

  private onAnswer(answer: Answer, connection: Connection): void {
    const { receipt } = answer
    this.parts.guard.end(answer, receipt === undefined ? undefined : chargeUnits(receipt))
    for (const tally of this.parts.tallies) tally.add(answer)
    this.idle.push(connection)
    // The next request waits for the next tick: a server that refuses every connection is not asked without a pause.
    if (answer.status === 0) return
    this.sendDue()
    this.endIfOver()
  }

  private tick(): void {
    const nowMs = performance.now()
    if (nowMs - this.expiredMs >= EXPIRE_MS) {
      this.expiredMs = nowMs
      for (const connection of this.connections) connection.expire(nowMs)
    }
    this.sendDue()
    this.endIfOver()
  }

  private endIfOver(): void {
    if (this.idle.length < this.connections.length || !this.isOver()) return
    clearInterval(this.timer)
    for (const connection of this.connections) connection.close()
    const nowMs = performance.now()
    const unsent = this.parts.guard.stopped === '' && this.schedule !== undefined ? this.schedule.count - this.begun : 0
    for (const tally of this.parts.tallies) {
      tally.addUnsent(unsent)
      tally.runningMs += nowMs - this.startMs
    }
    this.end.resolve()
  }
}
