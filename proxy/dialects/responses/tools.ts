import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven, readBoolean } from '../../json/fields.ts'
import type { DialectLimits } from '../limits.ts'
import { type ClientTool, differs, sentName } from '../shared/clientTools.ts'
import { boundedTools, choosesHosted, NAMED, toolList, toolsLeftOut } from '../shared/toolList.ts'
import { type FunctionTool, readTool } from './toolKinds.ts'

const MODES: ReadonlySet<unknown> = new Set(['none', 'auto', 'required'])

/** The tools of a request as a chat has them, and as the response repeats them. */
export interface Tools {
  /** tools, tool_choice and parallel_tool_calls of a chat. */
  readonly forward: JsonObject
  readonly echo: JsonObject
  /** Those that the client knows otherwise than the provider. */
  readonly differing: readonly ClientTool[]
  /** The members of the request of which a part is left out. */
  readonly inPart: readonly string[]
}

/**
 * Reads `tools`, `tool_choice` and `parallel_tool_calls`. Hosted tools run at the provider's prices, so only those that the
 * client runs itself are passed on, as functions; the response repeats those alone.
 * @param joined tools that the input brings along; of two with one name the newer one counts
 * @throws GatewayError 400 with the field at fault
 */
export function readTools(body: JsonObject, joined: readonly unknown[], limits: DialectLimits): Tools {
  const own = readAll(body['tools'], 'tools', limits)
  const found = readAll(joined, 'input.tools', limits)
  const all = new Map([...own.tools, ...found.tools].map((tool) => [tool.client.sent, tool]))
  const functions = [...all.values()]
  const choice = readChoice(body, functions)
  const parallel = isGiven(body['parallel_tool_calls']) ? readBoolean(body, 'parallel_tool_calls') : null
  const forward: JsonObject = {}
  if (choice.functions.length > 0) {
    forward['tools'] = choice.functions.map(({ sent }) => ({ type: 'function', function: sent }))
    if (choice.forward !== null) forward['tool_choice'] = choice.forward
    if (parallel !== null) forward['parallel_tool_calls'] = parallel
  }
  const echo = {
    tools: own.tools.map((tool) => tool.echo),
    tool_choice: choice.echo,
    parallel_tool_calls: parallel ?? true,
  }
  const differing = functions.map(({ client }) => client).filter(differs)
  const kept = own.tools.length + found.tools.length
  return { forward, echo, differing, inPart: toolsLeftOut(own.listed + found.listed, kept) }
}

interface ReadTools {
  readonly tools: readonly FunctionTool[]
  /** The tools that there were, also in namespaces. */
  readonly listed: number
}

function readAll(tools: unknown, param: string, limits: DialectLimits): ReadTools {
  const listed = toolList(tools, '{type: "function", name, ...}', limits, param)
  const read = listed.flatMap((tool, i) => readTool(flat(tool), `${param}[${i}]`))
  return {
    tools: boundedTools(read, limits, param),
    listed: listed.reduce<number>((sum, tool) => sum + countIn(tool), 0),
  }
}

function countIn(tool: unknown): number {
  return isJsonObject(tool) && tool['type'] === 'namespace' && Array.isArray(tool['tools']) ? tool['tools'].length : 1
}

/** A tool or a choice in the form of a chat, which some clients use for both, in that of this format. */
function flat(tool: unknown): unknown {
  if (!isJsonObject(tool) || isGiven(tool['name'])) return tool
  const said = [tool['function'], tool['custom']].find(isJsonObject)
  return said === undefined ? tool : { ...said, type: tool['type'] }
}

interface Choice {
  readonly forward: unknown
  readonly echo: unknown
  readonly functions: readonly FunctionTool[]
}

function readChoice(body: JsonObject, functions: readonly FunctionTool[]): Choice {
  const choice = flat(body['tool_choice'])
  const builtIn = builtInTool(choice, functions)
  if (builtIn !== undefined) return { forward: choiceOf(builtIn), echo: echoOf(builtIn), functions }
  if (!isGiven(choice) || choosesHosted(body)) return { forward: null, echo: 'auto', functions }
  if (MODES.has(choice)) {
    if (choice === 'required') checkSome(functions)
    return { forward: choice, echo: choice, functions }
  }
  if (isJsonObject(choice) && NAMED.has(choice['type'])) {
    const tool = findTool(choice, 'tool_choice.name', functions)
    return { forward: choiceOf(tool), echo: echoOf(tool), functions }
  }
  if (isJsonObject(choice) && choice['type'] === 'allowed_tools') return readAllowed(choice, functions)
  const message = 'tool_choice must be none, auto, required, or an object of type function, custom or allowed_tools.'
  throw invalidRequest(message, 'tool_choice')
}

// Providers differ in whether they know a choice of several tools; to leave out the others means the same to all.
function readAllowed(choice: JsonObject, functions: readonly FunctionTool[]): Choice {
  const { tools } = choice
  const mode = choice['mode'] ?? 'auto'
  if (!MODES.has(mode)) throw invalidRequest('tool_choice.mode must be none, auto or required.', 'tool_choice.mode')
  if (!Array.isArray(tools)) throw invalidRequest('tool_choice.tools must be an array.', 'tool_choice.tools')
  const named = tools.flatMap((tool: unknown, i) => {
    const builtIn = builtInTool(tool, functions)
    if (builtIn !== undefined) return [builtIn]
    const isNamed = isJsonObject(tool) && NAMED.has(tool['type'])
    return isNamed ? [findTool(tool, `tool_choice.tools[${i}].name`, functions)] : []
  })
  const allowed = functions.filter(({ client }) => named.includes(client))
  if (mode === 'required') checkSome(allowed)
  const echo = { type: 'allowed_tools', mode, tools: named.map(echoOf) }
  return { forward: mode, echo, functions: allowed }
}

function choiceOf({ sent }: ClientTool): JsonObject {
  return { type: 'function', function: { name: sent } }
}

/** A choice as the response repeats it. */
function echoOf({ kind, name }: ClientTool): JsonObject {
  return NAMED.has(kind) ? { type: kind, name } : { type: kind }
}

/** The tool that a choice means by its kind alone; undefined for none. */
function builtInTool(choice: unknown, functions: readonly FunctionTool[]): ClientTool | undefined {
  if (!isJsonObject(choice) || NAMED.has(choice['type'])) return undefined
  return functions.find(({ client }) => client.kind === choice['type'])?.client
}

function findTool(choice: JsonObject, field: string, functions: readonly FunctionTool[]): ClientTool {
  const { name, namespace } = choice
  const sent = sentName(typeof name === 'string' ? name : '', typeof namespace === 'string' ? namespace : '')
  const found =
    functions.find(({ client }) => client.sent === sent) ?? functions.find(({ client }) => client.name === name)
  if (found === undefined) throw invalidRequest(`${field} must name a function of tools.`, field)
  return found.client
}

function checkSome(functions: readonly FunctionTool[]): void {
  if (functions.length === 0) {
    throw invalidRequest('tool_choice requires a call, but tools holds no function to call.', 'tool_choice')
  }
}
