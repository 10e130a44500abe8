import type { JsonObject } from '../../contract/std/jsonObject.ts'
import { isGiven } from '../json/fields.ts'
import type { DialectLimits } from './limits.ts'
import { readIncludeUsage } from './openai/chatRequest.ts'
import { completeCalls } from './openai/chatTools.ts'
import { readResponseAsSent } from './responses/responsesRequest.ts'
import type { ChatRequest } from './shared/chatRequest.ts'
import type { ClientTool } from './shared/clientTools.ts'

/** Whether a body sent for a chat has the prompt of a request of responses. */
export function hasInput(body: JsonObject): boolean {
  return !isGiven(body['messages']) && isGiven(body['input'])
}

/**
 * Reads a request in the format of responses whose client wants the answer of a chat, as Cursor's agent sends for OpenAI's models.
 * @throws GatewayError 400 with the field at fault
 */
export function readChatOfInput(body: JsonObject, limits: DialectLimits): ChatRequest {
  const { stream_options: streamOptions, max_tokens: most, max_completion_tokens: mostCompletion, ...rest } = body
  const limit = rest['max_output_tokens'] ?? mostCompletion ?? most
  const read = readResponseAsSent({ ...rest, ...(isGiven(limit) && { max_output_tokens: limit }) }, limits)
  const { echo, returnsThoughts, tools = [], ...request } = read
  const known = tools.map(asFunction)
  completeCalls(request.forward['messages'] as readonly JsonObject[], known, request.prompt)
  // Long strings of the body may be in other strings now.
  request.prompt.rewritten = true
  return {
    ...request,
    includeUsage: readIncludeUsage(streamOptions),
    ...(known.length > 0 && { tools: known }),
  }
}

// A chat has no other kinds of calls that such a client could read.
function asFunction(tool: ClientTool): ClientTool {
  return tool.kind === 'custom' ? { ...tool, isCalledAsFunction: true } : tool
}
