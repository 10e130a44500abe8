import { countOf } from '../../../control/contract/openaiUsage.ts'
import { valueAt } from '../../../control/contract/tools/pointer.ts'
import type { AnswerPlaces } from '../../catalog/tool.ts'
import { isObject, type JsonObject } from '../../relay/jsonObject.ts'

/** A report may exceed what was asked for by this factor before it is taken for a fault. */
const PLAUSIBLE_FACTOR = 2

/** What an upstream's answer holds. */
export interface ToolAnswer {
  readonly output: JsonObject
  /** Results that the upstream bills. */
  readonly billed: number
  /** Where a page was found in the end; '' where that is not told. */
  readonly finalUrl: string
}

/**
 * Reads an upstream's answer into what the client gets.
 * @param resultsMax how many results the client asked for; 0 is any number
 * @returns null when the answer has no results where they should be
 */
export function readAnswer(answer: JsonObject, places: AnswerPlaces, resultsMax: number): ToolAnswer | null {
  const finalUrl = places.finalUrl === '' ? undefined : valueAt(answer, places.finalUrl)
  const rest = {
    finalUrl: typeof finalUrl === 'string' ? finalUrl : '',
    billed: reportedResults(answer, places, resultsMax) ?? 0,
  }
  if (places.results === '') {
    if (places.output.length === 0) return { ...rest, output: answer }
    const output = pick(answer, places.output)
    return Object.keys(output).length === 0 ? null : { ...rest, output }
  }
  const found = valueAt(answer, places.results)
  if (!Array.isArray(found)) return null
  const list = found as unknown[]
  const shown = resultsMax === 0 ? list : list.slice(0, resultsMax)
  const results = places.result.length === 0 ? shown : shown.map((result) => pick(result, places.result))
  const billed = reportedResults(answer, places, resultsMax) ?? list.length
  return { ...rest, billed, output: { ...pick(answer, places.output), results } }
}

/**
 * How many results an answer says that it bills; null where it does not, or says what cannot be.
 * @param resultsMax how many were asked for; 0 is any number
 */
export function reportedResults(answer: JsonObject, { billed }: AnswerPlaces, resultsMax: number): number | null {
  if (billed === '') return null
  const max = resultsMax === 0 ? Number.MAX_SAFE_INTEGER : resultsMax * PLAUSIBLE_FACTOR
  return countOf(valueAt(answer, billed), max)
}

function pick(value: unknown, places: AnswerPlaces['output']): JsonObject {
  if (!isObject(value)) return {}
  const members = places.map(([name, pointer]) => [name, valueAt(value, pointer)] as const)
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}
