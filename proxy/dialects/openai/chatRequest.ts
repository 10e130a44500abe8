import { jsonBytes } from '../../../contract/api/completion.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { parseWebUrl } from '../../../contract/net/publicUrl.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven, readBoolean, readModels, readNumber, readPositiveInteger } from '../../json/fields.ts'
import { readTagging } from '../../json/tagging.ts'
import type { DialectLimits } from '../limits.ts'
import { countCalledTools } from '../shared/calledTools.ts'
import type { ChatRequest } from '../shared/chatRequest.ts'
import { readPreferences } from '../shared/preferences.ts'
import { toolList } from '../shared/toolList.ts'
import { readAsides } from './asides.ts'
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
  prompt.tools = addTools(body, forward, limits)
  if (prompt.tools === 0) countCalledTools(messages, prompt, limits)
  prompt.textBytes += jsonBytes(forward['tools']) + jsonBytes(forward['tool_choice'])
  const batch = model.batchParam !== null
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
    ...beside,
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

// Some clients send the tools of another format, such as Responses or Messages, to this one.
function functionOf(tool: JsonObject): unknown {
  const { type, function: own, name, description, parameters, input_schema: schema, strict } = tool
  if (type === 'function') return own === undefined && isGiven(name) ? { name, description, parameters, strict } : own
  const isOfMessages = (type === undefined || type === 'custom') && isJsonObject(schema)
  return isOfMessages ? { name, description, parameters: schema } : null
}

function readFunction(said: unknown, i: number): JsonObject {
  if (isJsonObject(said) && typeof said['name'] === 'string') return said
  const field = `tools[${i}].function`
  throw invalidRequest(`${field} must be an object with the function's name.`, field)
}

const CHOICES: readonly unknown[] = ['none', 'auto', 'required']

// `any` is the word of Messages for `required`, which states each as the type of an object.
function readToolChoice(said: unknown): unknown {
  if (said === 'any') return 'required'
  if (CHOICES.includes(said)) return said
  if (isJsonObject(said) && typeof said['type'] === 'string') {
    const { type, name } = said
    if (type === 'any' || CHOICES.includes(type)) return readToolChoice(type)
    return typeof name === 'string' ? { type: 'function', function: { name } } : said
  }
  throw invalidRequest(
    'tool_choice must be "none", "auto", "required", or an object such as {type: "function", function: {name}}.',
    'tool_choice',
  )
}

// Hosted tools run at the provider's prices, so only functions, which the client runs itself, are passed on. Answers
// how many there are.
function addTools(body: JsonObject, forward: JsonObject, limits: DialectLimits): number {
  const functions: JsonObject[] = []
  for (const [i, tool] of toolList(body['tools'], '{type: "function", function}', limits).entries()) {
    if (!isJsonObject(tool)) throw invalidRequest('tools must hold objects {type: "function", function}.', 'tools')
    const said = functionOf(tool)
    if (said !== null) functions.push({ type: 'function', function: readFunction(said, i) })
  }
  if (functions.length === 0) return 0
  forward['tools'] = functions
  if (isGiven(body['tool_choice'])) forward['tool_choice'] = readToolChoice(body['tool_choice'])
  if (isGiven(body['parallel_tool_calls'])) {
    forward['parallel_tool_calls'] = readBoolean(body, 'parallel_tool_calls')
  }
  return functions.length
}
