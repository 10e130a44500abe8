import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

/** Members of the parsed file of another gateway, whose form nobody has checked. */
export type Fields = Readonly<JsonObject>

/** The member as a map; an empty one for anything else. */
export function fieldsIn(from: unknown, name: string): Fields {
  const value = isJsonObject(from) ? from[name] : undefined
  return isJsonObject(value) ? value : {}
}

/** The member as a list; an empty one for anything else. */
export function listIn(from: unknown, name: string): readonly unknown[] {
  const value = isJsonObject(from) ? from[name] : undefined
  return Array.isArray(value) ? value : []
}

/** The member as a text that is not empty. */
export function textIn(from: unknown, name: string): string | undefined {
  const value = isJsonObject(from) ? from[name] : undefined
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** The member as a whole number above zero, which some files have as a text. */
export function countIn(from: unknown, name: string): number | undefined {
  const value = isJsonObject(from) ? from[name] : undefined
  const count = typeof value === 'string' ? Number(value) : value
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : undefined
}
