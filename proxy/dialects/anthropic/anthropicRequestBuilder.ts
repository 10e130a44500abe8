import type { Model } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { isObject, type JsonObject } from '../../json/jsonObject.ts'
import type { ChatRequest } from '../shared/chatRequest.ts'
import type { ProviderRequest, ProviderRequestBuilder } from '../shared/codec.ts'
import { anthropicHeaders } from './anthropicHeaders.ts'
import { anthropicPrompt } from './anthropicMessages.ts'
import { thinkingMembers } from './anthropicThinking.ts'
import { anthropicTools, forcesTool } from './anthropicTools.ts'

export const MESSAGES_PATH = '/messages'

/** What providers of the Anthropic dialect are asked for a request in the format of chat completions. */
export class AnthropicRequestBuilder implements ProviderRequestBuilder {
  private readonly request: ChatRequest
  private readonly requestId: string
  private readonly model: Model
  private readonly prompt: JsonObject
  private readonly mayThink: boolean

  constructor(request: ChatRequest, requestId: string, model: Model) {
    const { forward } = request
    const messages = forward['messages'] as readonly JsonObject[]
    const { system, messages: turns } = anthropicPrompt(messages)
    this.request = request
    this.requestId = requestId
    this.model = model
    this.prompt = {
      ...(system.length === 0 ? {} : { system }),
      messages: turns,
      ...anthropicTools(forward),
      ...stopOf(forward['stop']),
      ...userOf(forward['user'] ?? forward['safety_identifier']),
    }
    this.mayThink = !forcesTool(forward['tool_choice']) && !(model.thinking === 'budget' && endsInToolResult(messages))
  }

  make(route: Route, maxTokens: number): ProviderRequest {
    const { forward, stream } = this.request
    const effort = this.mayThink ? forward['reasoning_effort'] : undefined
    const thinking = thinkingMembers(this.model.thinking, effort, maxTokens)
    const format = formatOf(forward['response_format'])
    const { output_config: config } = thinking ?? {}
    const body = {
      model: route.upstreamModel,
      max_tokens: maxTokens,
      ...(stream ? { stream } : {}),
      ...this.prompt,
      ...(thinking ?? sampling(forward)),
      ...(format === null ? {} : { output_config: { ...(isObject(config) ? config : {}), format } }),
    }
    return {
      path: MESSAGES_PATH,
      headers: anthropicHeaders(route.provider, stream ? 'text/event-stream' : 'application/json'),
      requestId: this.requestId,
      body: JSON.stringify(body),
    }
  }
}

// A model with a budget has to be shown the thinking that led to a tool call; chat completions do not carry it.
function endsInToolResult(messages: readonly JsonObject[]): boolean {
  return messages[messages.length - 1]?.['role'] === 'tool'
}

// The format knows temperatures up to 1, refuses some samplings together, and all of them while a model thinks.
function sampling(forward: JsonObject): JsonObject {
  const { temperature, top_p: topP, top_k: topK } = forward
  const members: JsonObject = {}
  if (typeof temperature === 'number') members['temperature'] = Math.min(1, temperature)
  else if (topP !== undefined) members['top_p'] = topP
  if (topK !== undefined) members['top_k'] = topK
  return members
}

function stopOf(stop: unknown): JsonObject {
  if (stop === undefined) return {}
  return { stop_sequences: Array.isArray(stop) ? stop : [stop] }
}

function userOf(user: unknown): JsonObject {
  return typeof user === 'string' ? { metadata: { user_id: user } } : {}
}

/** Only a schema can be stated; a request for any JSON object says so in its prompt, as that mode asks of it. */
function formatOf(format: unknown): JsonObject | null {
  if (!isObject(format) || !isObject(format['json_schema'])) return null
  return { type: 'json_schema', schema: format['json_schema']['schema'] }
}
