import type { LoadLimits } from './limits.ts'

/** A climb of the rate, step by step. */
export interface Climb {
  /** Requests a second. */
  readonly from: number
  readonly to: number
}

/** One step of a climb. */
export interface Step {
  /** Requests a second that were due. */
  readonly rate: number
  /** Good answers a second. */
  readonly good_per_second: number
  readonly answers: number
  /** Errors and cut streams. */
  readonly failed: number
  readonly p99_first_token_ms: number
  readonly p99_total_ms: number
}

/** The outcome of a climb. */
export interface ClimbReport {
  readonly steps: readonly Step[]
  /** The last rate before the bend, or the last one of all; null when even the first failed. */
  readonly carried_rate: number | null
  /** Why the last step is a bend; null when there was none. */
  readonly bend: string | null
}

/** The rates of a climb: each above the last one by a fixed percentage, the last one is `to`. */
export function climbRates({ from, to }: Climb, limits: LoadLimits): number[] {
  const rates: number[] = []
  for (let rate = from; rate < to && rates.length + 1 < limits.loadClimbStepsMax; ) {
    rates.push(rate)
    rate = Math.max(rate + 1, Math.round(rate * (1 + limits.loadClimbPercent / 100)))
  }
  return rates.concat(to)
}

/**
 * Why a step is above what the gateway carries: more than 1 % failed, or its p99 until the first token is more than twice
 * that of the first step, and more than 50 ms above it. Undefined when it carries the rate.
 */
export function bendOf(first: Step, step: Step, limits: LoadLimits): string | undefined {
  if (step.failed * 100 > step.answers * limits.loadBendErrorsPercent) {
    return `${step.failed} of ${step.answers} requests failed at ${step.rate} a second`
  }
  const [base, p99] = [first.p99_first_token_ms, step.p99_first_token_ms]
  if (p99 * 100 <= base * limits.loadBendPercent || p99 <= base + limits.loadBendMs) return undefined
  return `at ${step.rate} a second the p99 until the first token is ${p99} ms, after ${base} ms at ${first.rate} a second`
}

/** @param bend of the last step */
export function climbReport(steps: readonly Step[], bend: string | undefined): ClimbReport {
  const carried = bend === undefined ? steps.at(-1) : steps.at(-2)
  return { steps, carried_rate: carried?.rate ?? null, bend: bend ?? null }
}
