import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { sentName } from '../shared/clientTools.ts'
import { customArguments } from '../shared/customTools.ts'
import { areParts, callIdText } from '../shared/text.ts'

/** A call of a history as a chat has it. */
export interface CallSaid {
  /** The name of the function at the provider. */
  readonly name: string
  readonly arguments: string
}

const READERS: Readonly<Record<string, (item: JsonObject) => CallSaid | null>> = {
  function_call: (item) => named(item, textOf(item['arguments'] ?? '{}')),
  custom_tool_call: (item) => named(item, customArguments(textOf(item['input']))),
  local_shell_call: (item) => ({ name: 'local_shell', arguments: textOf(item['action']) }),
  shell_call: (item) => ({ name: 'shell', arguments: textOf(item['action']) }),
  apply_patch_call: (item) => ({ name: 'apply_patch', arguments: textOf(item['operation']) }),
  // A search that the provider ran has no call for the client to answer.
  tool_search_call: (item) =>
    typeof callIdText(item['call_id']) === 'string'
      ? { name: 'tool_search', arguments: textOf(item['arguments']) }
      : null,
}

/** The call of an item; null where it is none that the client has run. */
export function callOf(item: JsonObject): CallSaid | null {
  const { type } = item
  return typeof type === 'string' && Object.hasOwn(READERS, type) ? (READERS[type]?.(item) ?? null) : null
}

/** The id by which an item and the output of its call belong together; '' for none. */
export function callIdOf(item: JsonObject): string {
  for (const name of ['call_id', 'id']) {
    const id = callIdText(item[name])
    if (typeof id === 'string') return id
  }
  return ''
}

/** The output of an item as a text, or as the parts of a content, which are read by `readContent`. */
export function outputOf(item: JsonObject): unknown {
  if (item['type'] === 'tool_search_output') return foundTools(item['tools'])
  const { output } = item
  if (item['type'] !== 'shell_call_output' || !Array.isArray(output)) {
    if (Array.isArray(output) && areParts(output)) return output
    return textOf(isJsonObject(output) ? (output['content'] ?? output) : (output ?? item['status']))
  }
  return output.filter(isJsonObject).map(textOfCommand).join('\n')
}

function textOfCommand({ stdout, stderr, outcome }: JsonObject): string {
  const code =
    isJsonObject(outcome) && outcome['exit_code'] !== undefined ? `exit code ${textOf(outcome['exit_code'])}` : ''
  return [stdout, stderr, code]
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n')
}

function foundTools(tools: unknown): string {
  const names = Array.isArray(tools) ? tools.filter(isJsonObject).flatMap(namesOf) : []
  return names.length === 0 ? 'No tools were found.' : `Tools that can be called now: ${names.join(', ')}`
}

/** The names by which the provider knows a tool, or those in a namespace. */
function namesOf(tool: JsonObject): string[] {
  const { type, name, tools } = tool
  const isGroup = type === 'namespace' && Array.isArray(tools)
  const named = isGroup ? tools.filter(isJsonObject) : [tool]
  const names = named.map((one) => one['name']).filter((one) => typeof one === 'string')
  return names.map((one) => sentName(one, isGroup ? textOf(name) : ''))
}

function named(item: JsonObject, text: string): CallSaid | null {
  const { name, namespace } = item
  if (typeof name !== 'string') return null
  return { name: sentName(name, typeof namespace === 'string' ? namespace : ''), arguments: text }
}

/** A text as it is, anything else as JSON; '' for nothing. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}
