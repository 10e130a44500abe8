import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven } from '../../json/fields.ts'
import type { DialectLimits } from '../limits.ts'
import type { ChatRequest } from '../shared/chatRequest.ts'
import { readResponseRequest } from './responsesRequest.ts'
import { keptMessages, summaryBody } from './summary.ts'

/**
 * Validates the body of POST /v1/responses/compact and turns it into a chat whose last message asks for a summary; `echo` of
 * the result has the messages that stay beside it.
 * @throws GatewayError 400 with the field at fault
 */
export function readCompactRequest(body: JsonObject, limits: DialectLimits): ChatRequest {
  if (!isGiven(body['input'])) throw invalidRequest('input is missing; send the conversation to sum up.', 'input')
  const request = readResponseRequest(summaryBody(body), limits)
  return { ...request, stream: false, echo: keptMessages(body['input'], limits) }
}
