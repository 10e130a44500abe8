import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

const ANY_INPUT: JsonObject = { type: 'object', properties: {} }

/** The tools of a chat request and the choice among them, as members of a Messages body. */
export function anthropicTools(forward: JsonObject): JsonObject {
  const { tools, tool_choice: choice } = forward
  if (!Array.isArray(tools)) return {}
  const oneAtATime = forward['parallel_tool_calls'] === false
  const members: JsonObject = { tools: tools.map(toolOf) }
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
    input_schema: isJsonObject(parameters) ? { type: 'object', ...parameters } : ANY_INPUT,
  }
}

function choiceOf(choice: unknown): JsonObject | null {
  if (choice === 'auto' || choice === 'none') return { type: choice }
  if (choice === 'required') return { type: 'any' }
  if (!isJsonObject(choice)) return null
  if (isJsonObject(choice['function'])) return { type: 'tool', name: choice['function']['name'] }
  return null
}
