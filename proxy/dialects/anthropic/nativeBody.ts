import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { calledTools } from '../shared/calledTools.ts'
import { leftOut } from '../shared/leftOut.ts'
import { mapParts } from '../shared/mapParts.ts'
import { isBlank, isPdfDocument, NOTHING_SAID, trimmedTurn } from './anthropicMessages.ts'

/**
 * A checked Messages body as providers of the format take it: without texts of nothing but white space, without white space
 * at the end of an answer to continue, and with the tools that its calls name.
 * @param toolsMax tools that were measured for the calls
 * @returns the body itself where nothing has to be repaired
 */
export function providerBody(native: JsonObject, toolsMax: number): JsonObject {
  const repaired = repairedTexts(native)
  if (repaired['tools'] !== undefined) return repaired
  const called = calledTools(repaired['messages'] as JsonObject[], toolsMax)
  return called['tools'] === undefined ? repaired : { ...repaired, ...called }
}

/** A checked Messages body with notes in place of PDFs, for a model that takes none. */
export function withoutDocuments(native: JsonObject): JsonObject {
  const messages = (native['messages'] as JsonObject[]).map((message) => mapParts(message, noteOf))
  return { ...native, messages }
}

function noteOf(block: JsonObject): JsonObject {
  if (!isPdfDocument(block)) return block
  const cached = block['cache_control'] === undefined ? {} : { cache_control: block['cache_control'] }
  return { type: 'text', text: leftOut('document'), ...cached }
}

/** Whether providers of the format refuse a text of a checked Messages body as it is. */
export function needsRepair(native: JsonObject): boolean {
  return repairedTexts(native) !== native
}

function repairedTexts(native: JsonObject): JsonObject {
  const { system, ...rest } = native
  const sent = native['messages'] as JsonObject[]
  const messages = repairedTurns(sent)
  if (!isBlank(system)) return messages === sent ? native : { ...native, messages }
  return { ...rest, messages }
}

function repairedTurns(sent: JsonObject[]): JsonObject[] {
  const said = sent.some(({ content }) => isBlank(content)) ? sent.filter(({ content }) => !isBlank(content)) : sent
  const last = said.at(-1)
  if (last === undefined) return [{ role: 'user', content: NOTHING_SAID }]
  const trimmed = trimmedTurn(last)
  return trimmed === last ? said : [...said.slice(0, -1), trimmed]
}
