import { GatewayError, invalidRequest } from '../../control/contract/errors.ts'
import { nestsDeeper } from '../relay/jsonDepth.ts'
import { isObject, type JsonObject } from '../relay/jsonObject.ts'

const AT_POSITION = /at position ([0-9]+)/
const AT_END = /end of JSON input|Unterminated string/

/**
 * Parses a request body that has to be a JSON object.
 * @throws GatewayError 400; body_incomplete when the text stops before the JSON does
 */
export function parseJsonObject(body: Buffer, depthMax: number): JsonObject {
  if (body.length === 0) throw invalidRequest('The body is empty; send a JSON object.')
  if (nestsDeeper(body, depthMax)) throw invalidRequest(`The body nests deeper than ${depthMax} levels; flatten it.`)
  const text = body.toString('utf8')
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    if (endsEarly(reason, text.length)) throw new GatewayError('body_incomplete')
    throw invalidRequest(`The body is not valid JSON: ${reason}.`)
  }
  if (!isObject(parsed)) throw invalidRequest('The body must be a JSON object.')
  return parsed
}

function endsEarly(reason: string, length: number): boolean {
  if (AT_END.test(reason)) return true
  const position = AT_POSITION.exec(reason)
  return position !== null && Number(position[1]) >= length
}
