import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

/**
 * A message with each of its parts changed, also those within results of tools.
 * @param holder a message of a chat or of the Messages format, or a result
 */
export function mapParts(holder: JsonObject, change: (part: JsonObject) => JsonObject): JsonObject {
  const { content } = holder
  if (!Array.isArray(content)) return holder
  const changed = content.map((part: unknown) => {
    if (!isJsonObject(part)) return part
    return part['type'] === 'tool_result' ? mapParts(part, change) : change(part)
  })
  return { ...holder, content: changed }
}
