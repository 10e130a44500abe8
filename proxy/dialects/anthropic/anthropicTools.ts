import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { calledName, sentName } from '../shared/clientTools.ts'
import { inputSchema, withNamesTaken } from './inputSchema.ts'

/** The tools of a chat request and the choice among them, as members of a Messages body. */
export function anthropicTools(forward: JsonObject): JsonObject {
  const { tools: all, tool_choice: said } = forward
  if (!Array.isArray(all)) return {}
  const oneAtATime = forward['parallel_tool_calls'] === false
  const { tools, choice } = allowedTools(all as readonly JsonObject[], said)
  const members: JsonObject = { tools: uniqueTools(tools.map(toolOf)) }
  const chosen = choiceOf(choice)
  if (chosen !== null || oneAtATime) {
    members['tool_choice'] = {
      ...(chosen ?? { type: 'auto' }),
      ...(oneAtATime && chosen?.['type'] !== 'none' ? ONE : {}),
    }
  }
  return members
}

const ONE = { disable_parallel_tool_use: true }

/** The format has no choice among some of the tools: the others are left out. */
function allowedTools(
  tools: readonly JsonObject[],
  choice: unknown,
): { tools: readonly JsonObject[]; choice: unknown } {
  const allowed = isJsonObject(choice) && choice['type'] === 'allowed_tools' ? choice['allowed_tools'] : undefined
  if (!isJsonObject(allowed) || !Array.isArray(allowed['tools'])) return { tools, choice }
  const names = new Set((allowed['tools'] as unknown[]).map(nameOf))
  const some = tools.filter((tool) => names.has(nameOf(tool)))
  return { tools: some.length === 0 ? tools : some, choice: allowed['mode'] === 'required' ? 'required' : 'auto' }
}

/** The name that a function has at the provider, of a tool or of what means one: custom tools are functions there. */
function nameOf(tool: unknown): unknown {
  if (!isJsonObject(tool)) return undefined
  const { function: own, custom, name } = tool
  if (isJsonObject(own)) return own['name']
  if (!isJsonObject(custom)) return name
  const { name: given } = custom
  return typeof given === 'string' ? sentName(given) : given
}

/** Whether the model must call a tool, which excludes that it thinks first. */
export function forcesTool(toolChoice: unknown): boolean {
  const type = choiceOf(toolChoice)?.['type']
  return type === 'any' || type === 'tool'
}

function toolOf(tool: unknown): JsonObject {
  const said = isJsonObject(tool) && isJsonObject(tool['function']) ? tool['function'] : {}
  const { name, description, parameters } = said
  const mark = isJsonObject(tool) ? tool['cache_control'] : undefined
  return {
    name: calledName(String(name)),
    ...(typeof description === 'string' ? { description } : {}),
    input_schema: withNamesTaken(inputSchema(parameters)),
    ...(mark !== undefined && { cache_control: mark }),
  }
}

/** The format refuses two tools of one name; the client knows them by the name alone. */
export function uniqueTools(tools: readonly JsonObject[]): readonly JsonObject[] {
  const names = new Set(tools.map(({ name }) => name))
  return names.size === tools.length ? tools : [...new Map(tools.map((tool) => [tool['name'], tool])).values()]
}

function choiceOf(choice: unknown): JsonObject | null {
  if (choice === 'auto' || choice === 'none') return { type: choice }
  if (choice === 'required') return { type: 'any' }
  if (!isJsonObject(choice)) return null
  const name = isJsonObject(choice['function']) ? nameOf(choice) : undefined
  if (typeof name === 'string') return { type: 'tool', name: calledName(name) }
  const { allowed_tools: allowed } = choice
  return isJsonObject(allowed) && allowed['mode'] === 'required' ? { type: 'any' } : null
}
