import { setImmediate as nextTurn } from 'node:timers/promises'
import { excessOf, type JsonBounds } from '../../contract/std/jsonExcess.ts'
import { type JsonObject, parseJsonObject } from '../../contract/std/jsonObject.ts'
import type { BatchLimits } from './limits.ts'

/** The bounds of the JSON in a provider's answer. */
export type ResultLimits = Pick<BatchLimits, 'jsonDepthMax' | 'batchResultBytesMax' | 'batchResultValuesMax'>

/** Why an answer is not read. */
export type ResultExcess = 'bytes' | 'values'

/**
 * Parses a provider's answer, whose values are counted before any of it becomes an object. Counting and parsing each have a
 * turn of the event loop.
 * @returns null where it is no JSON object
 */
export async function parseResult(bytes: Buffer, limits: ResultLimits): Promise<JsonObject | ResultExcess | null> {
  if (bytes.length > limits.batchResultBytesMax) return 'bytes'
  if (excessOf(bytes, boundsOf(limits)) !== null) return 'values'
  if (bytes.length > SMALL_BYTES) await nextTurn()
  const parsed = parseJsonObject(bytes.toString('utf8'))
  if (bytes.length > SMALL_BYTES) await nextTurn()
  return parsed
}

/** Reading so many bytes takes no time that counts. */
const SMALL_BYTES = 65_536

function boundsOf({ jsonDepthMax, batchResultValuesMax: valuesMax }: ResultLimits): JsonBounds {
  return { depthMax: jsonDepthMax, membersMax: valuesMax, elementsMax: valuesMax }
}
