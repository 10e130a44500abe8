import { withoutByteOrderMark } from '../../../contract/std/jsonBody.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Span } from '../../../contract/std/span.ts'
import { CutJson } from '../../json/cutJson.ts'
import type { DialectLimits } from '../limits.ts'
import type { ChatSurface, CutRequest } from './codec.ts'

/**
 * Cuts the long strings out of a request that was found valid as a whole.
 * @param strings where they are, from parseJsonObject
 * @returns null when cutting would save too little
 */
export function cutRequest(
  body: Buffer,
  strings: readonly Span[],
  surface: ChatSurface,
  limits: DialectLimits,
): CutRequest | null {
  if (strings.length === 0 || strings.length > limits.cutStringsMax) return null
  const cut = new CutJson(body, strings)
  return {
    // Of a long string, the readers of requests check only its size and whether it is a mark or a data URL, so that a mark
    // in its place gives the same result.
    marked: () => surface.read(JSON.parse(withoutByteOrderMark(cut.text())) as JsonObject, limits),
    fill: (json) => cut.fill(json),
  }
}
