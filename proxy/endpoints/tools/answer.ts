import { countOf } from '../../../contract/money/statedUsage.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { valueAt } from '../../../contract/tools/pointer.ts'
import type { AnswerPlaces } from '../../catalog/tool.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import type { AnswerBounds } from '../../json/jsonObject.ts'
import type { ReadResult, ToolReading } from '../largeBodies/largeTasks.ts'
import { mayBePublic } from './publicUrl.ts'

/** A report may exceed the requested number by this factor before it is treated as a fault. */
const PLAUSIBLE_FACTOR = 2

/** Reads an upstream's answer, and writes the client's result. */
export function readResult(
  json: AnswerJson,
  { places, resultsMax, isPublicAlone }: ToolReading,
  bounds: AnswerBounds,
): ReadResult {
  const parsed = json.parse(bounds)
  const answer = parsed === null ? null : readAnswer(parsed, places, resultsMax)
  if (answer === null) {
    const billed = parsed === null ? null : reportedResults(parsed, places, resultsMax)
    return { output: null, billed: billed ?? 0, leftPublic: false }
  }
  const { output, billed, finalUrl } = answer
  if (finalUrl !== '' && isPublicAlone && !mayBePublic(finalUrl)) return { output: null, billed, leftPublic: true }
  return { output: Buffer.from(JSON.stringify(output)), billed, leftPublic: false }
}

/** The content of an upstream's answer. */
export interface ToolAnswer {
  readonly output: JsonObject
  /** Results that the upstream bills. */
  readonly billed: number
  /** The final address of a page after redirects; '' when it is not reported. */
  readonly finalUrl: string
}

/**
 * Converts an upstream's answer into the client's result.
 * @param resultsMax how many results the client asked for; 0 is any number
 * @returns null when the answer has no results where they should be
 */
export function readAnswer(answer: JsonObject, places: AnswerPlaces, resultsMax: number): ToolAnswer | null {
  const shownUrl = places.finalUrl === '' ? undefined : valueAt(answer, places.finalUrl)
  const finalUrl = typeof shownUrl === 'string' ? shownUrl : ''
  const reported = reportedResults(answer, places, resultsMax)
  if (places.results === '') {
    const output = places.output.length === 0 ? answer : pick(answer, places.output)
    if (places.output.length > 0 && Object.keys(output).length === 0) return null
    return { output, billed: reported ?? 0, finalUrl }
  }
  const found = valueAt(answer, places.results)
  if (!Array.isArray(found)) return null
  const list = found as unknown[]
  const shown = resultsMax === 0 ? list : list.slice(0, resultsMax)
  const results = places.result.length === 0 ? shown : shown.map((result) => pick(result, places.result))
  return { output: { ...pick(answer, places.output), results }, billed: reported ?? list.length, finalUrl }
}

/**
 * The number of results that an answer reports as billed; null when the report is missing or implausible.
 * @param resultsMax the number that was asked for; 0 is any number
 */
export function reportedResults(answer: JsonObject, { billed }: AnswerPlaces, resultsMax: number): number | null {
  if (billed === '') return null
  const max = resultsMax === 0 ? Number.MAX_SAFE_INTEGER : resultsMax * PLAUSIBLE_FACTOR
  return countOf(valueAt(answer, billed), max)
}

function pick(value: unknown, places: AnswerPlaces['output']): JsonObject {
  if (!isJsonObject(value)) return {}
  const members = places.map(([name, pointer]) => [name, valueAt(value, pointer)] as const)
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}
