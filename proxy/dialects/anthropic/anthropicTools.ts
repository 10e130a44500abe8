import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { inputSchema } from './inputSchema.ts'

/** The tools of a chat request and the choice among them, as members of a Messages body. */
export function anthropicTools(forward: JsonObject): JsonObject {
  const { tools, tool_choice: choice } = forward
  if (!Array.isArray(tools)) return {}
  const oneAtATime = forward['parallel_tool_calls'] === false
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

/** Whether the model must call a tool, which excludes that it thinks first. */
export function forcesTool(toolChoice: unknown): boolean {
  const type = choiceOf(toolChoice)?.['type']
  return type === 'any' || type === 'tool'
}

function toolOf(tool: unknown): JsonObject {
  const said = isJsonObject(tool) && isJsonObject(tool['function']) ? tool['function'] : {}
  const { name, description, parameters } = said
  return {
    name,
    ...(typeof description === 'string' ? { description } : {}),
    input_schema: inputSchema(parameters),
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
  if (isJsonObject(choice['function'])) return { type: 'tool', name: choice['function']['name'] }
  return null
}
