import { type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import type { DialectLimits } from '../limits.ts'

/** The bound of a packed text, which is neither given out nor read beyond it. */
export type PackBound = Pick<DialectLimits, 'packedCharactersMax'>

const MARK = 'slu1.'

/**
 * An object as a text that clients keep and send back without looking into it. It is neither encrypted nor authenticated.
 * @returns '' for one that is too long
 */
export function pack(object: object, { packedCharactersMax }: PackBound): string {
  const packed = MARK + Buffer.from(JSON.stringify(object)).toString('base64url')
  return packed.length > packedCharactersMax ? '' : packed
}

/** Whether a text is of this packing, readable or not, and so no provider's. */
export function isPacked(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith(MARK)
}

/** The object that a text holds; null for a text that another gateway has packed, or that cannot be read. */
export function unpack(text: unknown, { packedCharactersMax }: PackBound): JsonObject | null {
  if (!isPacked(text) || text.length > packedCharactersMax) return null
  return parseJsonObject(Buffer.from(text.slice(MARK.length), 'base64url').toString('utf8'))
}
