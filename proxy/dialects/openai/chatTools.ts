import { lacksArguments } from '../../../contract/api/callPiece.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { wellFormedJson } from '../../../contract/std/wellFormed.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isMark } from '../../json/cutJson.ts'
import { isGiven, readBoolean } from '../../json/fields.ts'
import type { DialectLimits } from '../limits.ts'
import { type ClientTool, calledName, sentName } from '../shared/clientTools.ts'
import { customArguments, customFunction } from '../shared/customTools.ts'
import { NO_ARGUMENTS } from '../shared/message.ts'
import { isEmptyList, soundSchema } from '../shared/soundSchema.ts'
import { choosesHosted, NAMED, toolList, toolsLeftOut } from '../shared/toolList.ts'
import { MARK } from './parts.ts'

const CHOICES: readonly unknown[] = ['none', 'auto', 'required']
const NO_NAMES: ReadonlySet<string> = new Set()
const SENDABLE = /^[\w-]+$/

interface ChatTool {
  /** The function, without the mark that a prompt is to be kept in the cache up to it. */
  readonly sent: JsonObject
  readonly isMarked?: boolean
  /** Where the client knows it otherwise than the provider. */
  readonly client?: ClientTool
}

/** The tools of a chat as its provider gets them. */
export interface ChatTools {
  /** tools, tool_choice and parallel_tool_calls. */
  readonly forward: JsonObject
  readonly count: number
  /** Their names as they are sent. */
  readonly names: ReadonlySet<string>
  /** Those that the client knows otherwise than the provider. */
  readonly differing: readonly ClientTool[]
  /** The members of the request of which a part is left out. */
  readonly inPart: readonly string[]
}

/**
 * Reads `tools`, `tool_choice` and `parallel_tool_calls`. Hosted tools run at the provider's prices, so only those that the
 * client runs itself are passed on, as functions.
 * @throws GatewayError 400 with the field at fault
 */
export function readTools(body: JsonObject, limits: DialectLimits): ChatTools {
  const listed = toolList(body['tools'], '{type: "function", function}', limits)
  const tools = listed.map(readTool).filter((tool) => tool !== null)
  const inPart = toolsLeftOut(listed.length, tools.length)
  if (tools.length === 0) return { forward: {}, count: 0, names: NO_NAMES, differing: [], inPart }
  const names = new Set(tools.map(({ sent }) => String(sent['name'])))
  const forward: JsonObject = { tools: tools.map(forwardedTool) }
  if (isGiven(body['tool_choice']) && !choosesHosted(body)) forward['tool_choice'] = readToolChoice(body['tool_choice'])
  if (isGiven(body['parallel_tool_calls'])) {
    forward['parallel_tool_calls'] = readBoolean(body, 'parallel_tool_calls')
  }
  const differing = tools.map(({ client }) => client).filter((client) => client !== undefined)
  return { forward, count: tools.length, names, differing, inPart }
}

function forwardedTool({ sent, isMarked }: ChatTool): JsonObject {
  const tool = { type: 'function', function: sent }
  return isMarked === true ? { ...tool, cache_control: MARK } : tool
}

/** Packages have the mark in the tool or in its function. */
function readTool(tool: unknown, i: number): ChatTool | null {
  if (!isJsonObject(tool)) throw invalidRequest('tools must hold objects {type: "function", function}.', 'tools')
  const read = readOwnTool(tool, i)
  if (read === null) return null
  const mark = tool['cache_control'] ?? read.sent['cache_control']
  if (mark === undefined) return read
  const { cache_control: _, ...sent } = read.sent
  return { ...read, sent, isMarked: isJsonObject(mark) }
}

// Some clients send the tools of another format, such as Responses or Messages, to this one.
function readOwnTool(tool: JsonObject, i: number): ChatTool | null {
  const { type, function: own, name, description, parameters, input_schema: schema, strict } = tool
  const field = `tools[${i}].function`
  if (type === 'function' || (!isGiven(type) && isJsonObject(own))) {
    const isFlat = own === undefined && isGiven(name)
    return withClient(named(isFlat ? { name, description, parameters, strict } : own, field))
  }
  const isCustom = type === 'custom'
  if ((isCustom || type === undefined) && isJsonObject(schema)) {
    return withClient(named({ name, description, parameters: schema }, field))
  }
  return isCustom ? readCustom(tool, `tools[${i}].custom`) : null
}

/** A function, with the name that providers of the Anthropic format get where they do not take its own. */
function withClient(said: Named): ChatTool {
  const sent = withSoundParameters(said)
  const called = calledName(sent.name)
  return called === sent.name ? { sent } : { sent, client: { sent: called, name: sent.name, kind: 'function' } }
}

function withSoundParameters(said: Named): Named {
  const { parameters, ...others } = said
  if (isEmptyList(parameters)) return others as Named
  const sound = isJsonObject(parameters) ? soundSchema(parameters) : parameters
  return sound === parameters ? said : { ...said, parameters: sound }
}

// A tool without `custom` is in the form of Responses. Clients that mix the formats, as Cursor does, read calls of functions alone.
function readCustom(tool: JsonObject, field: string): ChatTool {
  const isFlat = tool['custom'] === undefined
  const { name, description, format } = named(isFlat ? tool : tool['custom'], field)
  const sent = sentName(name)
  return {
    sent: { name: sent, ...customFunction(description, format) },
    client: { sent, name, kind: 'custom', ...(isFlat && { isCalledAsFunction: true }) },
  }
}

type Named = JsonObject & { readonly name: string }

function named(said: unknown, field: string): Named {
  if (isJsonObject(said) && typeof said['name'] === 'string') return said as Named
  const kind = field.endsWith('.custom') ? 'tool' : 'function'
  throw invalidRequest(`${field} must be an object with the ${kind}'s name.`, field)
}

// `any` is the word of Messages for `required`, which states each as the type of an object.
function readToolChoice(said: unknown): unknown {
  if (said === 'any') return 'required'
  if (CHOICES.includes(said)) return said
  if (isJsonObject(said) && typeof said['type'] === 'string') {
    const { type } = said
    if (type === 'any' || CHOICES.includes(type)) return readToolChoice(type)
    const name = chosenName(said)
    if (name === null) return said
    return { type: 'function', function: { name: type === 'custom' ? sentName(name) : name } }
  }
  throw invalidRequest(
    'tool_choice must be "none", "auto", "required", or an object such as {type: "function", function: {name}}.',
    'tool_choice',
  )
}

/** The name of the one tool that is chosen; null for a choice among several. @throws GatewayError 400 for one without a name */
function chosenName(choice: JsonObject): string | null {
  const { type, custom, function: own } = choice
  const { name } = [custom, own].find(isJsonObject) ?? choice
  if (typeof name === 'string') return name
  if (!NAMED.has(type)) return null
  throw invalidRequest('tool_choice must have the name of a function or a custom tool.', 'tool_choice')
}

/**
 * Makes calls of custom tools calls of the functions that stand for them, in place. Clients that know them as calls of functions
 * send the input itself as their arguments. The arguments of the others are JSON of an object afterwards.
 * @param offered the names of the request's tools: another one, which a model has made up, becomes one that providers take;
 *   absent where the names are those of providers already
 */
export function completeCalls(
  messages: readonly JsonObject[],
  tools: readonly ClientTool[],
  size: PromptSize,
  offered?: ReadonlySet<string>,
): void {
  const names = new Set(tools.filter((tool) => tool.isCalledAsFunction === true).map(({ name }) => name))
  for (const { tool_calls: calls } of messages) {
    if (!Array.isArray(calls)) continue
    for (const call of calls as JsonObject[]) {
      const { name, arguments: text } = call['function'] as Called
      const sent = names.has(name)
        ? customCall(name, text)
        : { name: isMadeUp(name, offered) ? sentName(name) : name, arguments: wholeArguments(text) }
      if (sent.arguments === text && sent.name === name) continue
      size.textBytes += Buffer.byteLength(sent.arguments + sent.name) - Buffer.byteLength(text + name)
      size.rewritten = true
      call['function'] = sent
    }
  }
}

/** Whether a name is none of a tool, and has characters that providers refuse. */
function isMadeUp(name: string, offered: ReadonlySet<string> | undefined): boolean {
  return offered?.has(name) === false && !SENDABLE.test(name)
}

interface Called {
  readonly name: string
  readonly arguments: string
}

function customCall(name: string, text: string): Called {
  return parseJsonObject(text) === null
    ? { name: sentName(name), arguments: customArguments(text) }
    : { name, arguments: wellFormedJson(text) }
}

function wholeArguments(text: string): string {
  // Many servers parse them, and none refuses an empty object.
  if (lacksArguments(text)) return NO_ARGUMENTS
  return isWhole(text) ? wellFormedJson(text) : JSON.stringify({ arguments: text })
}

/**
 * Whether arguments are JSON of an object. A model that was cut off leaves a part of it, which many providers refuse
 * at every further request. A text that was cut out of the body was read before.
 */
function isWhole(text: string): boolean {
  return isMark(text) || parseJsonObject(text) !== null
}

/** A call as its client has the tool. @param text the arguments of a function, or the input of a custom tool */
export function calledTool(tool: ClientTool, id: string, text: string): JsonObject {
  const name = tool.namespace === undefined ? tool.name : tool.sent
  return tool.kind === 'custom' && tool.isCalledAsFunction !== true
    ? { id, type: 'custom', custom: { name, input: text } }
    : { id, type: 'function', function: { name, arguments: text } }
}
