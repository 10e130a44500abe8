import { jsonBytes } from '../../../contract/api/completion.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import {
  isGiven,
  readBoolean,
  readModels,
  readName,
  readNumber,
  readPositiveInteger,
  readWord,
  refuseBatch,
} from '../../json/fields.ts'
import { readTagging } from '../../json/tagging.ts'
import type { DialectLimits } from '../limits.ts'
import { completeCalls } from '../openai/chatTools.ts'
import { countOption } from '../openai/options.ts'
import { countAnyJson } from '../shared/anyJson.ts'
import { countCalledTools } from '../shared/calledTools.ts'
import type { ChatRequest } from '../shared/chatRequest.ts'
import { countForcedCall } from '../shared/forcedCalls.ts'
import { readPreferences } from '../shared/preferences.ts'
import { asidesOf } from '../shared/requestForm.ts'
import { readInput } from './items.ts'
import { asksForSummary, summaryBody } from './summary.ts'
import { readTextOptions } from './textOptions.ts'
import { readTools } from './tools.ts'

/** Members that a stateless gateway rejects, with the alternative for each. */
const REFUSED: Readonly<Record<string, string>> = {
  previous_response_id:
    'previous_response_id is not served, because no responses are stored; send the history in input.',
  conversation: 'conversation is not served, because nothing is stored; send the history in input.',
  prompt: 'prompt is not served, because no prompts are stored; send instructions and input.',
}

/**
 * Validates the body of POST /v1/responses and turns it into a chat. A member that is null counts as absent; `echo` of the
 * result has the members that the response repeats, as members of a JSON object.
 * @throws GatewayError 400 with the field at fault
 */
export function readResponseRequest(body: JsonObject, limits: DialectLimits): ChatRequest {
  const request = readResponseAsSent(body, limits)
  completeCalls(request.forward['messages'] as readonly JsonObject[], [], request.prompt)
  return request
}

/** The same with the arguments of calls as the client has sent them. */
export function readResponseAsSent(body: JsonObject, limits: DialectLimits): ChatRequest {
  return asksForSummary(body)
    ? { ...readResponse(summaryBody(body), limits), compacts: true }
    : readResponse(body, limits)
}

function readResponse(body: JsonObject, limits: DialectLimits): ChatRequest {
  const model = readModels(body, limits)
  refuseBatch(model)
  refuseState(body)
  const { messages, size, tools: joined, thoughts } = readInput(body, limits)
  const tools = readTools(body, joined, limits)
  const text = readTextOptions(body['text'], limits)
  const reasoning = readReasoning(body['reasoning'])
  const sampling = readSampling(body, limits)
  const maxTokens = readPositiveInteger(body, 'max_output_tokens')
  const forward: JsonObject = { messages, ...given(sampling), ...tools.forward, ...text.forward }
  if (reasoning.effort !== null) forward['reasoning_effort'] = reasoning.effort
  size.textBytes += jsonBytes(forward['tools']) + jsonBytes(forward['tool_choice'])
  countForcedCall(forward['tool_choice'], size)
  size.textBytes += jsonBytes(forward['response_format'])
  countAnyJson(forward['response_format'], size)
  for (const name of ['reasoning_effort', 'verbosity', 'user', 'prompt_cache_key', 'safety_identifier']) {
    countOption(forward[name], size)
  }
  size.tools = Array.isArray(forward['tools']) ? forward['tools'].length : 0
  if (size.tools === 0) countCalledTools(messages, size, limits)
  const echo = {
    instructions: body['instructions'] ?? null,
    max_output_tokens: maxTokens,
    metadata: body['metadata'] ?? {},
    temperature: sampling.temperature ?? 1,
    top_p: sampling.top_p ?? 1,
    top_logprobs: 0,
    presence_penalty: sampling.presence_penalty ?? 0,
    frequency_penalty: sampling.frequency_penalty ?? 0,
    prompt_cache_key: sampling.prompt_cache_key,
    safety_identifier: sampling.safety_identifier,
    ...(sampling.user !== null && { user: sampling.user }),
    ...tools.echo,
    text: text.echo,
    reasoning,
  }
  return {
    modelId: model.modelId,
    models: model.models,
    batch: false,
    cheapest: model.cheapest,
    stream: readBoolean(body, 'stream'),
    includeUsage: true,
    maxTokens,
    maxTokensName: 'max_tokens',
    maxTokensParam: 'max_output_tokens',
    promptParam: 'input',
    prompt: size,
    preferences: readPreferences(body['provider']),
    forward,
    ...(thoughts.size > 0 && { thoughts }),
    ...(wantsThoughts(body['include']) && { returnsThoughts: true }),
    named: Object.keys(forward),
    ...readTagging(body, limits),
    ...asidesOf(body, KNOWN, limits.droppedNamesMax, tools.inPart),
    ...(reasoning.effort !== null && { effort: reasoning.effort }),
    echo: readEcho(echo, limits),
    ...(tools.differing.length > 0 && { tools: tools.differing }),
  }
}

/** Members that Codex and the official clients send, which a model is to read or which change the answer. */
const KNOWN: ReadonlySet<string> = new Set(
  (
    'model models input instructions tools tool_choice parallel_tool_calls text reasoning temperature top_p presence_penalty ' +
    'frequency_penalty user prompt_cache_key safety_identifier max_output_tokens metadata stream store truncation ' +
    'background previous_response_id conversation prompt provider include client_metadata'
  ).split(' '),
)

/** Whether reasoning items are to hold what it takes to send them back. */
function wantsThoughts(include: unknown): boolean {
  return Array.isArray(include) && include.includes('reasoning.encrypted_content')
}

// Repeated members are written into several events.
function readEcho(echo: JsonObject, { echoBytesMax }: DialectLimits): string {
  const json = JSON.stringify(echo)
  if (json.length > echoBytesMax) {
    const message = `instructions, tools and text are repeated in the response, and may have ${echoBytesMax} bytes together; send long texts in input.`
    throw invalidRequest(message, 'instructions')
  }
  return json.slice(1, -1)
}

function refuseState(body: JsonObject): void {
  for (const [param, message] of Object.entries(REFUSED)) {
    if (isGiven(body[param])) throw new GatewayError('unsupported_parameter', { message, param })
  }
  if (readBoolean(body, 'background')) {
    const message = 'background is not served, because no responses are stored; wait for the answer, or stream it.'
    throw new GatewayError('unsupported_parameter', { message, param: 'background' })
  }
  readBoolean(body, 'store')
  const { truncation } = body
  if (isGiven(truncation) && truncation !== 'auto' && truncation !== 'disabled') {
    throw invalidRequest('truncation must be auto or disabled.', 'truncation')
  }
}

/** Members that mean the same in a chat; null is absent. */
function readSampling(body: JsonObject, limits: DialectLimits) {
  return {
    temperature: readNumber(body, 'temperature', 0, 2),
    top_p: readNumber(body, 'top_p', 0, 1),
    presence_penalty: readNumber(body, 'presence_penalty', -2, 2),
    frequency_penalty: readNumber(body, 'frequency_penalty', -2, 2),
    user: readName(body, 'user', limits),
    prompt_cache_key: readName(body, 'prompt_cache_key', limits),
    safety_identifier: readName(body, 'safety_identifier', limits),
  }
}

function given(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

function readReasoning(reasoning: unknown): { effort: string | null; summary: string | null } {
  if (!isGiven(reasoning)) return { effort: null, summary: null }
  if (!isJsonObject(reasoning)) throw invalidRequest('reasoning must be an object.', 'reasoning')
  const effort = readWord(reasoning['effort'], 'reasoning.effort')
  return { effort, summary: readWord(reasoning['summary'], 'reasoning.summary') }
}
