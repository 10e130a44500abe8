import { jsonBytes } from '../../../contract/api/completion.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven, readBoolean, readWord } from '../../json/fields.ts'
import type { DialectLimits } from '../limits.ts'
import { checkStops, countOption } from '../openai/options.ts'
import { countForcedCall } from '../shared/forcedCalls.ts'
import { isEmptyList } from '../shared/soundSchema.ts'
import { readText } from '../shared/text.ts'
import { boundedTools, toolList, toolsLeftOut } from '../shared/toolList.ts'
import { THINKING_TOKENS_MIN } from './anthropicThinking.ts'
import { uniqueTools } from './anthropicTools.ts'
import { withCache } from './cacheControl.ts'
import { inputSchema } from './inputSchema.ts'

const CHOICES: ReadonlySet<unknown> = new Set(['auto', 'any', 'tool', 'none'])
const THINKING_TYPES: ReadonlySet<unknown> = new Set(['adaptive', 'between_tools', 'disabled'])
const DISPLAYS: ReadonlySet<unknown> = new Set(['summarized', 'omitted'])

/** The tools of a request as its provider gets them. */
export interface MessagesTools {
  /** tools and tool_choice. */
  readonly members: JsonObject
  /** The members of the request of which a part is left out. */
  readonly inPart: readonly string[]
}

/**
 * The tools and the choice among them. Tools that the provider runs, and built-in tools that add a prompt, are dropped: no
 * hold covers their prices.
 * @param joined tools that blocks of the conversation bring along; of two with one name the newer one counts
 * @throws GatewayError 400
 */
export function readTools(
  body: JsonObject,
  joined: readonly unknown[],
  size: PromptSize,
  limits: DialectLimits,
): MessagesTools {
  const listed = [...toolList(body['tools'], '{name, input_schema}', limits), ...boundedTools(joined, limits)]
  const all = listed.map(readTool).filter((tool) => tool !== null)
  const inPart = toolsLeftOut(listed.length, all.length)
  const clean = uniqueTools(all)
  if (clean.length === 0) return { members: {}, inPart }
  size.textBytes += jsonBytes(clean)
  size.tools = clean.length
  return { members: { tools: clean, ...chosenAmong(clean, body['tool_choice'], size) }, inPart }
}

function chosenAmong(clean: readonly JsonObject[], choice: unknown, size: PromptSize): JsonObject {
  if (!isGiven(choice)) return {}
  const read = readChoice(choice, size)
  countForcedCall(read, size)
  // The client may have chosen a tool of the provider's, which is left out.
  const isOffered = read['type'] !== 'tool' || clean.some(({ name }) => name === read['name'])
  const { name: _name, ...others } = read
  return { tool_choice: isOffered ? read : { ...others, type: 'auto' } }
}

function readTool(tool: unknown, i: number): JsonObject | null {
  const field = `tools[${i}]`
  if (!isJsonObject(tool)) throw invalidRequest(`${field} must be an object {name, input_schema}.`, field)
  if (isGiven(tool['type']) && tool['type'] !== 'custom') return null
  const { name, description, input_schema: schema } = tool
  if (typeof name !== 'string' || name === '') throw invalidRequest(`${field}.name must be a string.`, `${field}.name`)
  if (!isJsonObject(schema) && !isEmptyList(schema))
    throw invalidRequest(`${field}.input_schema must be a JSON schema.`, `${field}.input_schema`)
  const clean: JsonObject = { name, input_schema: inputSchema(schema) }
  if (isGiven(description)) {
    if (typeof description !== 'string')
      throw invalidRequest(`${field}.description must be a string.`, `${field}.description`)
    clean['description'] = description
  }
  for (const name of ['strict', 'eager_input_streaming']) if (tool[name] === true) clean[name] = true
  return withCache(clean, tool['cache_control'], field)
}

function readChoice(choice: unknown, size: PromptSize): JsonObject {
  if (!isJsonObject(choice) || !CHOICES.has(choice['type'])) {
    throw invalidRequest('tool_choice.type must be auto, any, tool or none.', 'tool_choice.type')
  }
  const clean: JsonObject = { type: choice['type'] }
  if (choice['type'] === 'tool') clean['name'] = readText(choice['name'], 'tool_choice.name', size)
  const oneAtATime = 'disable_parallel_tool_use'
  if (readBoolean(choice, oneAtATime, `tool_choice.${oneAtATime}`)) clean[oneAtATime] = true
  return clean
}

/**
 * The member `thinking`, or null when it is absent.
 * @param maxTokens the output limit, which a budget has to stay below; null when there is no limit
 * @throws GatewayError 400
 */
export function readThinking(thinking: unknown, maxTokens: number | null): JsonObject | null {
  if (!isGiven(thinking)) return null
  if (!isJsonObject(thinking)) throw invalidRequest('thinking must be an object with a type.', 'thinking')
  const { type, budget_tokens: budget, display } = thinking
  if (type !== 'enabled' && !THINKING_TYPES.has(type)) {
    throw invalidRequest('thinking.type must be enabled, adaptive, between_tools or disabled.', 'thinking.type')
  }
  const shown = DISPLAYS.has(display) ? { display } : {}
  if (type !== 'enabled') return { type, ...shown }
  const field = 'thinking.budget_tokens'
  if (typeof budget !== 'number' || !Number.isSafeInteger(budget) || budget < THINKING_TOKENS_MIN) {
    throw invalidRequest(`${field} must be a whole number from ${THINKING_TOKENS_MIN}.`, field)
  }
  if (maxTokens !== null && budget >= maxTokens) throw invalidRequest(`${field} must be less than max_tokens.`, field)
  return { type, budget_tokens: budget, ...shown }
}

/**
 * The member `output_config`: the effort, and the schema of the answer.
 * @param laterEffort what a message of the conversation asks for in its place
 * @throws GatewayError 400
 */
export function readOutputConfig(body: JsonObject, laterEffort: string | null, size: PromptSize): JsonObject | null {
  const isImplied = isGiven(body['output_format']) || laterEffort !== null
  const config = body['output_config'] ?? (isImplied ? {} : null)
  if (!isGiven(config)) return null
  if (!isJsonObject(config)) throw invalidRequest('output_config must be an object.', 'output_config')
  // Older packages have the format next to the configuration.
  const format = config['format'] ?? body['output_format']
  const clean: JsonObject = {}
  const effort = laterEffort ?? readWord(config['effort'], 'output_config.effort')
  if (effort !== null) {
    countOption(effort, size)
    clean['effort'] = effort
  }
  if (isGiven(format)) {
    if (!isJsonObject(format) || format['type'] !== 'json_schema' || !isJsonObject(format['schema'])) {
      throw invalidRequest('output_config.format must be {type: "json_schema", schema}.', 'output_config.format')
    }
    size.textBytes += jsonBytes(format['schema'])
    clean['format'] = { type: 'json_schema', schema: format['schema'] }
  }
  return clean
}

/**
 * The members that say how the answer is drawn and where it stops.
 * @throws GatewayError 400
 */
export function readSampling(body: JsonObject, size: PromptSize, limits: DialectLimits): JsonObject {
  const clean: JsonObject = {}
  for (const name of ['temperature', 'top_p']) {
    const value = body[name]
    if (!isGiven(value)) continue
    if (typeof value !== 'number' || !(value >= 0 && value <= 1)) {
      throw invalidRequest(`${name} must be a number from 0 to 1.`, name)
    }
    clean[name] = value
  }
  const { top_k: topK, stop_sequences: stops } = body
  if (isGiven(topK)) {
    if (typeof topK !== 'number' || !Number.isSafeInteger(topK) || topK < 0)
      throw invalidRequest('top_k must be a whole number.', 'top_k')
    clean['top_k'] = topK
  }
  if (isGiven(stops)) {
    if (!Array.isArray(stops)) throw invalidRequest('stop_sequences must be an array of strings.', 'stop_sequences')
    checkStops(stops, 'stop_sequences', limits.messageStopSequencesMax, size, limits)
    clean['stop_sequences'] = stops
  }
  return clean
}
