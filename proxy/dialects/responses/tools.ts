import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven, readBoolean } from '../../json/fields.ts'
import type { Limits } from '../../limits.ts'

const MODES: ReadonlySet<unknown> = new Set(['none', 'auto', 'required'])

/** The tools of a request as a chat has them, and as the response repeats them. */
export interface Tools {
  /** tools, tool_choice and parallel_tool_calls of a chat. */
  readonly forward: JsonObject
  readonly echo: JsonObject
}

/**
 * Reads `tools`, `tool_choice` and `parallel_tool_calls`. Hosted tools run at the provider's prices, so only functions,
 * which the client runs itself, are passed on; the response repeats those alone.
 * @throws GatewayError 400 with the field at fault
 */
export function readTools(body: JsonObject, limits: Limits): Tools {
  const functions = readFunctions(body['tools'], limits)
  const choice = readChoice(body['tool_choice'], functions)
  const parallel = isGiven(body['parallel_tool_calls']) ? readBoolean(body, 'parallel_tool_calls') : null
  const forward: JsonObject = {}
  if (choice.functions.length > 0) {
    forward['tools'] = choice.functions.map((tool) => ({ type: 'function', function: tool }))
    if (choice.forward !== null) forward['tool_choice'] = choice.forward
    if (parallel !== null) forward['parallel_tool_calls'] = parallel
  }
  const tools = functions.map(({ name, description, parameters, strict }) => ({
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  }))
  return { forward, echo: { tools, tool_choice: choice.echo, parallel_tool_calls: parallel ?? true } }
}

interface FunctionTool extends JsonObject {
  readonly name: string
  description?: string
  parameters?: JsonObject
  strict?: boolean
}

function readFunctions(tools: unknown, limits: Limits): FunctionTool[] {
  if (!isGiven(tools)) return []
  if (!Array.isArray(tools)) throw invalidRequest('tools must be an array of {type: "function", name, ...}.', 'tools')
  if (tools.length > limits.toolsMax)
    throw invalidRequest(`tools may hold at most ${limits.toolsMax} entries.`, 'tools')
  const functions: FunctionTool[] = []
  tools.forEach((tool: unknown, i) => {
    const field = `tools[${i}]`
    if (!isJsonObject(tool)) throw invalidRequest(`${field} must be an object {type: "function", name, ...}.`, field)
    if (tool['type'] === 'function') functions.push(readFunction(tool, field))
  })
  return functions
}

function readFunction(tool: JsonObject, field: string): FunctionTool {
  const { name, description, parameters, strict } = tool
  if (typeof name !== 'string' || name === '') throw invalidRequest(`${field}.name must be a string.`, `${field}.name`)
  const read: FunctionTool = { name }
  if (isGiven(description)) {
    if (typeof description !== 'string') {
      throw invalidRequest(`${field}.description must be a string.`, `${field}.description`)
    }
    read.description = description
  }
  if (isGiven(parameters)) {
    if (!isJsonObject(parameters)) throw invalidRequest(`${field}.parameters must be a schema.`, `${field}.parameters`)
    read.parameters = parameters
  }
  if (isGiven(strict)) read.strict = readBoolean(tool, 'strict', `${field}.strict`)
  return read
}

interface Choice {
  readonly forward: unknown
  readonly echo: unknown
  readonly functions: readonly FunctionTool[]
}

function readChoice(choice: unknown, functions: readonly FunctionTool[]): Choice {
  if (!isGiven(choice)) return { forward: null, echo: 'auto', functions }
  if (MODES.has(choice)) {
    if (choice === 'required') checkSome(functions)
    return { forward: choice, echo: choice, functions }
  }
  if (isJsonObject(choice) && choice['type'] === 'function') {
    const name = nameOf(choice, 'tool_choice.name', functions)
    return { forward: { type: 'function', function: { name } }, echo: { type: 'function', name }, functions }
  }
  if (isJsonObject(choice) && choice['type'] === 'allowed_tools') return readAllowed(choice, functions)
  const message = 'tool_choice must be none, auto, required, or an object of type function or allowed_tools.'
  throw invalidRequest(message, 'tool_choice')
}

// Providers differ in whether they know a choice of several tools; to leave out the others means the same to all.
function readAllowed(choice: JsonObject, functions: readonly FunctionTool[]): Choice {
  const { tools } = choice
  const mode = choice['mode'] ?? 'auto'
  if (!MODES.has(mode)) throw invalidRequest('tool_choice.mode must be none, auto or required.', 'tool_choice.mode')
  if (!Array.isArray(tools)) throw invalidRequest('tool_choice.tools must be an array.', 'tool_choice.tools')
  const names = tools
    .map((tool: unknown, i) => ({ tool, field: `tool_choice.tools[${i}]` }))
    .filter(({ tool }) => isJsonObject(tool) && tool['type'] === 'function')
    .map(({ tool, field }) => nameOf(tool as JsonObject, `${field}.name`, functions))
  const allowed = functions.filter(({ name }) => names.includes(name))
  if (mode === 'required') checkSome(allowed)
  const echo = { type: 'allowed_tools', mode, tools: names.map((name) => ({ type: 'function', name })) }
  return { forward: mode, echo, functions: allowed }
}

function nameOf(tool: JsonObject, field: string, functions: readonly FunctionTool[]): string {
  const found = functions.find(({ name }) => name === tool['name'])
  if (found === undefined) throw invalidRequest(`${field} must name a function of tools.`, field)
  return found.name
}

function checkSome(functions: readonly FunctionTool[]): void {
  if (functions.length === 0) {
    throw invalidRequest('tool_choice requires a call, but tools holds no function to call.', 'tool_choice')
  }
}
