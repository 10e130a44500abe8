import { jsonBytes } from '../../../contract/api/completion.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { parseWebUrl } from '../../../contract/net/publicUrl.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven, readBoolean, readModels, readNumber, readPositiveInteger } from '../../json/fields.ts'
import { readTagging } from '../../json/tagging.ts'
import type { DialectLimits } from '../limits.ts'
import { countCalledTools } from '../shared/calledTools.ts'
import type { ChatRequest } from '../shared/chatRequest.ts'
import { isOtherKind } from '../shared/clientTools.ts'
import { countForcedCall } from '../shared/forcedCalls.ts'
import { readPreferences } from '../shared/preferences.ts'
import { readAsides, withInPart } from './asides.ts'
import { completeCalls, readTools } from './chatTools.ts'
import { addOptions, CHAT_OPTIONS } from './options.ts'
import { readMessages } from './prompt.ts'

/**
 * Validates the body of POST /v1/chat/completions. A member that is null counts as absent.
 * @throws GatewayError 400 with the field at fault
 */
export function readChatRequest(body: JsonObject, limits: DialectLimits): ChatRequest {
  const model = readModels(body, limits)
  refuseFunctions(body)
  const { messages, size: prompt } = readMessages(body['messages'], limits)
  if (isGiven(body['n']) && body['n'] !== 1) throw invalidRequest('n must be 1.', 'n')
  readNumber(body, 'temperature', 0, 2)
  const stream = readBoolean(body, 'stream')
  const forward: JsonObject = { messages }
  addOptions(body, forward, CHAT_OPTIONS, prompt, limits)
  const named = Object.keys(forward).slice(1)
  const beside = readAsides(body, prompt, limits)
  const tools = readTools(body, limits)
  Object.assign(forward, tools.forward)
  prompt.tools = tools.count
  completeCalls(messages, tools.differing, prompt, tools.names)
  if (prompt.tools === 0) countCalledTools(messages, prompt, limits)
  prompt.textBytes += jsonBytes(forward['tools']) + jsonBytes(forward['tool_choice'])
  countForcedCall(forward['tool_choice'], prompt)
  const batch = model.batchParam !== null
  if (batch && tools.differing.some(isOtherKind)) {
    throw invalidRequest('Custom tools are not served in batch jobs; send functions.', 'tools')
  }
  const maxTokensName = isGiven(body['max_completion_tokens']) ? 'max_completion_tokens' : 'max_tokens'
  return {
    modelId: model.modelId,
    models: model.models,
    batch,
    webhookUrl: batch ? readWebhookUrl(body['webhook_url'], limits) : '',
    cheapest: model.cheapest,
    stream,
    includeUsage: readIncludeUsage(body['stream_options']),
    maxTokens: readPositiveInteger(body, maxTokensName),
    maxTokensName,
    maxTokensBeside: maxTokensName === 'max_tokens' ? null : readPositiveInteger(body, 'max_tokens'),
    prompt,
    preferences: readPreferences(body['provider']),
    forward,
    named,
    ...(tools.differing.length > 0 && { tools: tools.differing }),
    ...withInPart(beside, tools.inPart),
    ...readTagging(body, limits),
  }
}

/** @throws GatewayError 400 for an invalid web address */
function readWebhookUrl(value: unknown, limits: DialectLimits): string {
  if (!isGiven(value)) return ''
  const max = limits.webhookUrlCharactersMax
  const url = typeof value === 'string' && value.length <= max ? parseWebUrl(value) : undefined
  if (url !== undefined) return url.href
  const what = `an https:// or http:// address of at most ${max} characters, without user, password and backslashes`
  const message = `webhook_url must be ${what}.`
  throw invalidRequest(message, 'webhook_url')
}

function refuseFunctions(body: JsonObject): void {
  for (const name of ['functions', 'function_call'] as const) {
    if (isGiven(body[name])) {
      const replacement = name === 'functions' ? 'tools' : 'tool_choice'
      throw new GatewayError('unsupported_parameter', {
        message: `Send ${replacement} instead of ${name}.`,
        param: name,
      })
    }
  }
}

/** Whether the client wants the usage chunk. @throws GatewayError 400 */
export function readIncludeUsage(options: unknown): boolean {
  if (!isGiven(options)) return false
  if (!isJsonObject(options)) throw invalidRequest('stream_options must be an object.', 'stream_options')
  return readBoolean(options, 'include_usage', 'stream_options.include_usage')
}
