import { Failed } from './failed.ts'

/** A step of the verification, its result and the reason. A step is skipped if its input was not given. */
export interface Step {
  readonly name: string
  readonly result: 'ok' | 'failed' | 'skipped'
  readonly reason: string
}

export interface Report {
  /** No step has failed. */
  readonly ok: boolean
  readonly steps: readonly Step[]
}

/** The result of a step, and its description in the report. */
export interface Found<Value> {
  readonly value: Value
  readonly reason: string
}

/** Collects the steps of a verification. */
export class Steps {
  private readonly steps: Step[] = []

  /** @param work throws if the step fails. @returns its value; undefined if it failed */
  async run<Value>(name: string, work: () => Found<Value> | Promise<Found<Value>>): Promise<Value | undefined> {
    try {
      const { value, reason } = await work()
      this.steps.push({ name, result: 'ok', reason })
      return value
    } catch (error) {
      if (!(error instanceof Error)) throw error
      this.steps.push({ name, result: 'failed', reason: error.message })
      return undefined
    }
  }

  skip(name: string, reason: string): void {
    this.steps.push({ name, result: 'skipped', reason })
  }

  report(): Report {
    return { ok: this.steps.every(({ result }) => result !== 'failed'), steps: this.steps }
  }
}

/** A step that finds nothing but that it holds. */
export const told = (reason: string): Found<true> => ({ value: true, reason })

/** Reads JSON. @param what names it in reasons; @throws Failed for malformed JSON */
export function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Failed(`the ${what} is not JSON`)
  }
}
