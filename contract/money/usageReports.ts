import { isJsonObject, type JsonObject } from '../std/jsonObject.ts'
import type { TokenUsage } from './charge.ts'
import { readDocumentedUsage } from './documentedUsage.ts'
import { readStatedUsage, type StatedUsage, type UsageBounds } from './statedUsage.ts'

/** The usage that a provider has reported for one answer. */
export interface ReportedUsage extends TokenUsage {
  /** The side that was not reported, which is 0 here and has to be estimated; absent when both were. */
  readonly missing?: 'prompt' | 'output'
  /** Counts of the reports contradict each other; the charge follows them as they are stated. */
  readonly contradicts?: true
}

/** Whether a provider has reported both the prompt and the output. */
export function isWhole(usage: ReportedUsage | null): usage is ReportedUsage {
  return usage !== null && usage.missing === undefined
}

type PromptClasses = Pick<TokenUsage, 'input' | 'cachedInput' | 'cacheWrite5m' | 'cacheWrite1h'>
type StatedPrompt = Pick<StatedUsage, 'prompt' | 'cached' | 'written' | 'writtenHour' | 'inside'>

const NO_PROMPT: PromptClasses = { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0 }

/**
 * The reports of one answer, of every dialect. Reports are cumulative and replace each other, the classes of the prompt as a
 * set and the output by itself. Counts that only grow cannot fall to nothing: a report that gives 0 for what an earlier one
 * counted leaves that side as it was.
 */
export class UsageReports {
  /** The usage reported so far; null before the first count. */
  current: ReportedUsage | null = null

  private readonly bounds: UsageBounds
  private stated: StatedPrompt | null = null
  private prompt: PromptClasses | null = null
  private output: number | null = null
  private reasoning = 0
  private contradicts = false

  constructor(bounds: UsageBounds) {
    this.bounds = bounds
  }

  /**
   * Takes a usage object; counts that are negative, fractional or absurd are left out.
   * @returns whether its output counts, so that it covers all that was delivered before it
   */
  note(report: unknown): boolean {
    if (!isJsonObject(report)) return false
    const stated = readDocumentedUsage(report, this.bounds) ?? readStatedUsage(report, this.bounds)
    if (stated.contradicts) this.contradicts = true
    const { prompt } = this
    this.notePrompt(stated)
    const counts = this.noteOutput(stated)
    if (counts || this.prompt !== prompt) this.current = this.sum()
    return counts
  }

  /**
   * Takes the usage of an answer or a chunk from wherever it is: next to the choices, in `x_groq`, in a choice, or in the
   * delta or the message of one; the last one counts.
   * @returns as `note` does
   */
  noteIn(answer: JsonObject): boolean {
    const { usage } = answer
    // Nearly all reports are there, and need no list.
    if (isJsonObject(usage)) return this.note(usage)
    let counts = false
    for (const report of reportsIn(answer)) if (this.note(report)) counts = true
    return counts
  }

  private notePrompt(report: StatedUsage): void {
    const { stated } = this
    const isFresh =
      stated === null || (report.inside !== null && stated.inside !== null && report.inside !== stated.inside)
    const merged: StatedPrompt = {
      prompt: report.prompt ?? (isFresh ? null : stated.prompt),
      cached: report.cached ?? (isFresh ? null : stated.cached),
      written: report.written ?? (isFresh ? null : stated.written),
      writtenHour: report.writtenHour ?? (isFresh ? null : stated.writtenHour),
      inside: report.inside ?? stated?.inside ?? null,
    }
    if (merged.prompt === null) {
      if (this.prompt === null) this.stated = merged
      return
    }
    const classes = classesOf(merged.prompt, merged)
    if (this.prompt !== null && onlyLoses(classes, this.prompt)) return
    this.stated = merged
    this.prompt = classes
  }

  private noteOutput({ output, reasoning }: StatedUsage): boolean {
    if (output === null || (output === 0 && (this.output ?? 0) > 0)) return false
    this.output = output
    this.reasoning = Math.min(reasoning ?? this.reasoning, output)
    return true
  }

  private sum(): ReportedUsage | null {
    const { prompt, output, reasoning } = this
    if (prompt === null && output === null) return null
    // No prompt is empty, so a provider that says so with an output has not counted it.
    const hasPrompt = prompt !== null && (!isNothing(prompt) || (output ?? 0) === 0)
    const { input, cachedInput, cacheWrite5m, cacheWrite1h } = prompt ?? NO_PROMPT
    // Nearly all reports are whole: they get objects of one shape, and are not copied.
    const usage = { input, cachedInput, cacheWrite5m, cacheWrite1h, output: output ?? 0, reasoning }
    if (hasPrompt && output !== null && !this.contradicts) return usage
    return {
      ...usage,
      ...(!hasPrompt && { missing: 'prompt' as const }),
      ...(output === null && { missing: 'output' as const }),
      ...(this.contradicts && { contradicts: true as const }),
    }
  }
}

/** The usage objects of an answer or a chunk, wherever they are: that next to the choices, or those in the other places. */
export function reportsIn(answer: JsonObject): readonly unknown[] {
  if (isJsonObject(answer['usage'])) return [answer['usage']]
  const choices: unknown[] = Array.isArray(answer['choices']) ? answer['choices'] : []
  const places = [...choices.filter(isJsonObject).flatMap(placesIn), answer['x_groq']]
  return places.filter(isJsonObject).map(({ usage }) => usage)
}

function placesIn(choice: JsonObject): unknown[] {
  return [choice, choice['delta'], choice['message']]
}

/** The usage that an answer in one piece reports; null when it reports none. */
export function usageOfAnswer(answer: JsonObject, bounds: UsageBounds): ReportedUsage | null {
  const reports = new UsageReports(bounds)
  reports.noteIn(answer)
  return reports.current
}

// Tokens that the prompt contains are taken out of it, so that no token is billed twice. Writes whose lifetime is not stated
// are of five minutes.
function classesOf(prompt: number, { cached, written, writtenHour, inside }: StatedPrompt): PromptClasses {
  const isInside = inside !== false
  const cachedInput = isInside ? Math.min(cached ?? 0, prompt) : (cached ?? 0)
  const writes = isInside ? Math.min(written ?? 0, prompt - cachedInput) : (written ?? 0)
  const cacheWrite1h = Math.min(writtenHour ?? 0, writes)
  const input = isInside ? prompt - cachedInput - writes : prompt
  return { input, cachedInput, cacheWrite5m: writes - cacheWrite1h, cacheWrite1h }
}

function onlyLoses(next: PromptClasses, last: PromptClasses): boolean {
  const names = ['input', 'cachedInput', 'cacheWrite5m', 'cacheWrite1h'] as const
  return names.every((name) => next[name] === 0 || next[name] === last[name])
}

function isNothing({ input, cachedInput, cacheWrite5m, cacheWrite1h }: PromptClasses): boolean {
  return input + cachedInput + cacheWrite5m + cacheWrite1h === 0
}
