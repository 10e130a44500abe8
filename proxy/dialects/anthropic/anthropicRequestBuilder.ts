import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { exactJson } from '../../json/exactJson.ts'
import { ANY_JSON, askedSchema, wordsFor } from '../shared/anyJson.ts'
import { withMarksTaken } from '../shared/cacheMarks.ts'
import { calledTools } from '../shared/calledTools.ts'
import type { ChatFields, ChatRequest } from '../shared/chatRequest.ts'
import type { AskModel, Printed, ProviderRequest, ProviderRequestBuilder } from '../shared/codec.ts'
import { userForAnthropic } from '../shared/endUser.ts'
import { joinedBody } from '../shared/joinedBody.ts'
import { withoutPdfs } from '../shared/pdf.ts'
import { withoutRefused } from '../shared/refusedParts.ts'
import { answerSchema } from './answerSchema.ts'
import { anthropicHeaders } from './anthropicHeaders.ts'
import { anthropicPrompt, isBlank } from './anthropicMessages.ts'
import { isEffort, thinkingMembers, thinkingOptions } from './anthropicThinking.ts'
import { anthropicTools, forcesTool } from './anthropicTools.ts'
import { lacksThought } from './foreignThoughts.ts'
import { takesFirstAlone } from './placedSystem.ts'

export const MESSAGES_PATH = '/messages'
const SAMPLING = ['temperature', 'top_p', 'top_k'] as const

/** A request in the format of chat completions as providers of the Anthropic dialect read it. */
export function printAnthropic(
  { forward: sent, effort, thoughts, named = [], prompt: { pdfs = 0, tools = 0 } }: ChatRequest,
  model: Pick<AskModel, 'thinking' | 'pdfTokens' | 'form' | 'leavesOut'>,
): Printed {
  const forward = withoutRefused(sent, model.leavesOut)
  const said = forward['messages'] as readonly JsonObject[]
  // Models that do not think take no thinking back.
  const shown = model.thinking === 'none' || model.leavesOut?.includes('thoughts') === true ? undefined : thoughts
  const { system, messages: turns } = anthropicPrompt(
    pdfs > 0 && (model.pdfTokens ?? 0) === 0 ? withoutPdfs(said, () => false) : said,
    takesFirstAlone(model),
    shown,
  )
  const format = answerFormat(forward['response_format'])
  if (format.words !== null) system.push({ type: 'text', text: format.words })
  const prompt = {
    ...(system.length === 0 ? {} : { system }),
    messages: turns,
    ...(Array.isArray(forward['tools']) ? anthropicTools(forward) : calledTools(turns, tools)),
    ...stopOf(forward['stop']),
    ...userOf(forward['user'] ?? forward['safety_identifier']),
  }
  // A model with a budget has to be shown the thinking that led to a tool call, which not every client's format carries; and no
  // model thinks amid an answer that it continues.
  const asked = effort ?? forward['reasoning_effort']
  const mayThink =
    model.leavesOut?.includes('effort') !== true &&
    turns.at(-1)?.role !== 'assistant' &&
    !forcesTool(forward['tool_choice']) &&
    !(model.thinking === 'budget' && lacksThought(turns))
  const isOff = asked === 'none' && model.leavesOut?.includes('thinkingOff') !== true
  const options: JsonObject = mayThink || isOff ? thinkingOptions(asked, model.thinking, model.leavesOut) : {}
  for (const name of SAMPLING) options[name] = forward[name]
  const dropped = unwritten(forward, asked).filter((name) => named.includes(name))
  return {
    rest: exactJson(withMarksTaken(prompt)).slice(1),
    options,
    ...(format.schema !== null && { format: JSON.stringify(format.schema) }),
    ...(dropped.length > 0 && { dropped }),
  }
}

/** The members of a chat with values of a provider's own, which the format cannot say. */
function unwritten({ response_format: format }: JsonObject, effort: unknown): readonly string[] {
  const isOwn = isJsonObject(format) && format['type'] !== 'text' && askedSchema(format) === undefined
  return [...(isOwn ? ['response_format'] : []), ...(isEffort(effort) ? [] : ['reasoning_effort'])]
}

/** Builds requests to providers of the Anthropic dialect from chat completion requests. */
export class AnthropicRequestBuilder implements ProviderRequestBuilder {
  private readonly stream: boolean
  private readonly requestId: string
  private readonly model: Pick<AskModel, 'thinking'>
  private readonly printed: Printed
  /** The members of the last request that say how to think or draw. */
  private drawn: JsonObject = {}

  /** @param printed from printAnthropic */
  constructor({ stream }: ChatFields, requestId: string, model: Pick<AskModel, 'thinking'>, printed: Printed) {
    this.stream = stream
    this.requestId = requestId
    this.model = model
    this.printed = printed
  }

  get dropped(): readonly string[] | undefined {
    const { drawn, printed } = this
    const names = SAMPLING.filter((name) => printed.options?.[name] !== undefined && drawn[name] === undefined)
    return names.length === 0 ? printed.dropped : [...names, ...(printed.dropped ?? [])]
  }

  make(route: Route, maxTokens: number): ProviderRequest {
    const { stream } = this
    const { rest, options = {}, format, cut } = this.printed
    const thinking = thinkingMembers(this.model.thinking, options, maxTokens)
    const isDrawn = thinking === null || options['effort'] === 'none'
    const { output_config: config, ...thinks } = { ...(isDrawn && sampling(options)), ...thinking }
    this.drawn = thinks
    const members = { model: route.upstreamModel, max_tokens: maxTokens, ...(stream ? { stream } : {}), ...thinks }
    const start = `${JSON.stringify(members).slice(0, -1)},`
    return {
      path: MESSAGES_PATH,
      headers: anthropicHeaders(route.provider, stream ? 'text/event-stream' : 'application/json'),
      requestId: this.requestId,
      body: joinedBody([start, ...outputConfig(config, format), rest], cut),
    }
  }
}

/** The member `output_config` with a trailing comma, in pieces; empty where it would have no content. */
function outputConfig(config: unknown, format: string | Uint8Array | undefined): readonly (string | Uint8Array)[] {
  const stated = isJsonObject(config) ? JSON.stringify(config).slice(1, -1) : ''
  if (format === undefined) return stated === '' ? [] : [`"output_config":{${stated}},`]
  return [`"output_config":{${stated}${stated === '' ? '' : ','}"format":`, format, '},']
}

// The format knows temperatures up to 1, refuses some samplings together, and all of them while a model thinks.
function sampling(options: JsonObject): JsonObject {
  const { temperature, top_p: topP, top_k: topK } = options
  const members: JsonObject = {}
  if (typeof temperature === 'number') members['temperature'] = Math.min(1, temperature)
  else if (topP !== undefined) members['top_p'] = topP
  // Servers of open models take a negative number for no limit.
  if (Number(topK) >= 0) members['top_k'] = topK
  return members
}

function stopOf(stop: unknown): JsonObject {
  if (stop === undefined) return {}
  // The format refuses sequences of nothing but white space.
  const stops = (Array.isArray(stop) ? stop : [stop]).filter((text) => !isBlank(text))
  return stops.length === 0 ? {} : { stop_sequences: stops }
}

function userOf(user: unknown): JsonObject {
  return typeof user === 'string' ? { metadata: { user_id: userForAnthropic(user) } } : {}
}

/** The format of an answer: a schema that the provider keeps to, or words where it has none for that. */
function answerFormat(format: unknown): { schema: JsonObject | null; words: string | null } {
  const asked = askedSchema(format)
  if (asked === undefined) return { schema: null, words: null }
  if (asked === null) return { schema: null, words: ANY_JSON }
  const schema = answerSchema(asked)
  if (schema === null) return { schema, words: wordsFor(asked) }
  return { schema: { type: 'json_schema', schema }, words: null }
}
