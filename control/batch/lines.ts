import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Completion } from '../../contract/api/completion.ts'
import { textStart } from '../../contract/std/jsonBody.ts'
import { isJsonObject, type JsonObject } from '../../contract/std/jsonObject.ts'
import { parseResult, type ResultExcess, type ResultLimits } from './boundedJson.ts'
import { errorText } from './outcome.ts'

/** The code of a line that the provider had no time for. */
const EXPIRED = 'batch_expired'

const OK = 200
const LF = 10
/** No result is shorter. */
const LINE_BYTES_MIN = 16
/** Bytes of lines that one turn of the event loop reads; the cost of a line beside its bytes, and of a blank one. */
const TURN_BYTES = 1_048_576
const LINE_COST_BYTES = 8_192
const BLANK_COST_BYTES = 64
/** A member of a line itself: within texts, its quotes are escaped. */
const CUSTOM_ID = /[{,]\s*"custom_id"\s*:\s*"([\w.:-]{1,128})"/
const HEAD_BYTES = 4_096
/** For the owners of jobs. */
export const EXCESS_REASONS: Readonly<Record<ResultExcess, string>> = {
  bytes: 'The result is larger than the gateway keeps.',
  values: 'The result has more values than the gateway reads.',
}

/** A provider's result of one job. */
export interface ResultLine {
  readonly customId: string
  /** null without a completion. */
  readonly completion: Completion | null
  readonly isExpired: boolean
  /** Why the completion is missing. */
  readonly reason: string
}

/**
 * Reads an output or error file of a batch: {custom_id, response: {status_code, body} or null, error: {code, message} or
 * null} a line. Other lines are ignored. No turn of the event loop reads more than one line.
 */
export async function* readLines(file: Buffer, limits: ResultLimits): AsyncGenerator<ResultLine> {
  let turnCost = 0
  for (let at = textStart(file); at < file.length; ) {
    const found = file.indexOf(LF, at)
    const end = found < 0 ? file.length : found
    if (end - at < LINE_BYTES_MIN) turnCost += BLANK_COST_BYTES
    else {
      turnCost += LINE_COST_BYTES + end - at
      const line = await readLine(file.subarray(at, end), limits)
      if (line !== undefined) yield line
    }
    at = end + 1
    if (turnCost < TURN_BYTES) continue
    turnCost = 0
    await nextTurn()
  }
}

async function readLine(text: Buffer, limits: ResultLimits): Promise<ResultLine | undefined> {
  const line = await parseResult(text, limits)
  if (line === 'bytes' || line === 'values') return excessLine(text, line)
  const customId = line?.['custom_id']
  if (line === null || typeof customId !== 'string') return undefined
  const response = objectOf(line['response'])
  const body = objectOf(response?.['body'])
  const status = Number(response?.['status_code'] ?? OK)
  if (status >= OK && status < 300 && body !== undefined) {
    return { customId, completion: body, isExpired: false, reason: '' }
  }
  const error = line['error'] ?? body?.['error']
  const reason = errorText(error, status >= 400 ? status : undefined)
  return { customId, completion: null, isExpired: objectOf(error)?.['code'] === EXPIRED, reason }
}

/** A line that is not parsed; its id is looked for where providers write it. */
function excessLine(text: Buffer, excess: ResultExcess): ResultLine | undefined {
  const customId = CUSTOM_ID.exec(text.toString('latin1', 0, HEAD_BYTES))?.[1]
  if (customId === undefined) return undefined
  return { customId, completion: null, isExpired: false, reason: EXCESS_REASONS[excess] }
}

function objectOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined
}
