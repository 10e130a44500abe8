import type { JsonObject } from '../../../../contract/std/jsonObject.ts'
import { type Part, toolCall } from './messageParts.ts'

/** Whether an item of the Responses format is a call that its client answers. */
export function isCallItem({ type, call_id: id }: JsonObject): boolean {
  return typeof type === 'string' && type.endsWith('_call') && typeof id === 'string'
}

/** Whether an item is the client's answer to a call. */
export function isOutputItem({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.endsWith('_call_output')
}

/** The part of a call; those of the format's own tools have no name but their type. */
export function callItem(item: JsonObject): Part {
  const { type, call_id: id, name } = item
  return toolCall(id, name ?? String(type).replace(/_call$/, ''), item['arguments'] ?? item['input'] ?? item['action'])
}
