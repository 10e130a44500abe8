import type { Bars } from './bars.ts'
import { compareWithBook } from './bookComparison.ts'
import { bendOf, type Climb, type ClimbReport, climbRates, climbReport, type Step } from './climb.ts'
import { type Allowance, Guard } from './guard.ts'
import type { RequestKind } from './kinds.ts'
import type { LoadLimits } from './limits.ts'
import { type Pace, type RunParts, runLoad } from './loadRun.ts'
import { isOk, type LoadReport, targetReport } from './report.ts'
import { RequestSource } from './requestSource.ts'
import { Tally } from './tally.ts'
import type { Target } from './target.ts'

/** A gateway under load, and the keys that it takes. */
export interface LoadTarget {
  readonly target: Target
  readonly keys: readonly string[]
  readonly kinds: readonly RequestKind[]
}

/** The course of a load test. */
export interface LoadPlan {
  /** One, or two that are compared by turns. */
  readonly targets: readonly LoadTarget[]
  /** For each gateway; of a climb, for each step. */
  readonly pace: Pace
  readonly climb: Climb | undefined
  /** For each gateway. */
  readonly allowance: Allowance
  readonly bars: Bars
}

/** One gateway during a load test. */
interface Subject {
  readonly plan: LoadTarget
  readonly parts: RunParts
  readonly tally: Tally
  readonly guard: Guard
  climb: ClimbReport | undefined
}

/**
 * Runs a load test.
 * @param say takes a line of progress now and then
 */
export async function loadTest(plan: LoadPlan, limits: LoadLimits, say: (line: string) => void): Promise<LoadReport> {
  const startedAt = new Date().toISOString()
  const startMs = performance.now()
  const subjects = plan.targets.map((target) => subjectOf(target, plan, limits, startMs))
  const timer = setInterval(() => {
    for (const { plan, tally } of subjects) say(progressLine(plan.target.url, tally, performance.now() - startMs))
  }, limits.loadProgressMs)
  try {
    if (plan.climb === undefined) await runTurns(subjects, plan.pace, limits)
    else for (const subject of subjects) subject.climb = await runClimb(subject, plan.climb, plan.pace, limits)
  } finally {
    clearInterval(timer)
  }
  const gateways = []
  for (const subject of subjects) {
    const { tally, guard, climb } = subject
    const { target } = subject.plan
    if (tally.sample.length > 0) say(`${target.url}: comparing ${tally.sample.length} receipts with the book`)
    const comparedWithBook = await compareWithBook(target, tally, limits)
    const stopped = guard.stopped
    gateways.push(targetReport({ url: target.url, tally, comparedWithBook, climb, stopped, bars: plan.bars }))
  }
  return { started_at: startedAt, mode: modeOf(plan), ok: gateways.every(isOk), gateways }
}

function subjectOf(target: LoadTarget, { allowance }: LoadPlan, limits: LoadLimits, startMs: number): Subject {
  const guard = new Guard(allowance, limits)
  const tally = new Tally(limits, startMs)
  const source = new RequestSource(target.target, target.kinds, target.keys, limits)
  const parts = { target: target.target, source, guard, tallies: [tally], limits }
  return { plan: target, parts, tally, guard, climb: undefined }
}

/** Two gateways take turns, so that what else the machines do falls on both. */
async function runTurns(subjects: readonly Subject[], pace: Pace, limits: LoadLimits): Promise<void> {
  const turns = subjects.length === 1 ? 1 : Math.min(limits.loadTurns, pace.requests)
  for (let turn = 0; turn < turns; turn++) {
    const requests = shareOf(pace.requests, turn, turns)
    for (const { parts } of subjects) await runLoad(parts, { ...pace, requests, seconds: pace.seconds / turns })
  }
}

/** The requests of a turn; all turns together have `requests`, which may be without a bound. */
function shareOf(requests: number, turn: number, turns: number): number {
  if (!Number.isFinite(requests)) return requests
  return Math.floor((requests * (turn + 1)) / turns) - Math.floor((requests * turn) / turns)
}

/** Raises the rate step by step until the p99 bends or requests fail. */
async function runClimb({ parts, guard }: Subject, climb: Climb, pace: Pace, limits: LoadLimits): Promise<ClimbReport> {
  const steps: Step[] = []
  for (const rate of climbRates(climb, limits)) {
    const tally = new Tally(limits, performance.now())
    await runLoad({ ...parts, tallies: [...parts.tallies, tally] }, { ...pace, rate })
    const step = stepOf(rate, tally)
    steps.push(step)
    const bend = bendOf(steps[0] ?? step, step, limits)
    if (bend !== undefined || guard.stopped !== '') return climbReport(steps, bend ?? guard.stopped)
  }
  return climbReport(steps, undefined)
}

function stepOf(rate: number, { first, total, answers, good, runningMs }: Tally): Step {
  return {
    rate,
    good_per_second: Math.round((good / runningMs) * 10_000) / 10,
    answers,
    failed: answers - good,
    p99_first_token_ms: first.quantiles().p99,
    p99_total_ms: total.quantiles().p99,
  }
}

function modeOf({ pace, climb }: LoadPlan): string {
  if (climb !== undefined) return `open loop, ${climb.from} to ${climb.to} requests a second`
  if (pace.rate !== undefined) return `open loop, ${pace.rate} requests a second`
  return `closed loop, ${pace.connections} connections`
}

function progressLine(url: string, { answers, good, first }: Tally, elapsedMs: number): string {
  const seconds = Math.round(elapsedMs / 1_000)
  const p99 = Math.round(first.quantile(0.99) * 10) / 10
  return `${url}: ${seconds} s, ${answers} answers, ${answers - good} failed, p99 until the first token ${p99} ms`
}
