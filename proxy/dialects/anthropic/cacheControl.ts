import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { exactJson } from '../../json/exactJson.ts'
import { isGiven } from '../../json/fields.ts'

const MINUTES: JsonObject = Object.freeze({ type: 'ephemeral' })
const HOUR: JsonObject = Object.freeze({ type: 'ephemeral', ttl: '1h' })

/**
 * A block with the mark that its prompt is to be kept in the cache up to here; an absent mark leaves the block as it is.
 * @throws GatewayError 400
 */
export function withCache(block: JsonObject, mark: unknown, field: string): JsonObject {
  if (isGiven(mark)) block['cache_control'] = readCacheControl(mark, `${field}.cache_control`)
  return block
}

/** @throws GatewayError 400 */
export function readCacheControl(mark: unknown, field: string): JsonObject {
  if (!isJsonObject(mark) || mark['type'] !== 'ephemeral') {
    throw invalidRequest(`${field} must be {type: "ephemeral"}.`, field)
  }
  const { ttl } = mark
  if (isGiven(ttl) && ttl !== '5m' && ttl !== '1h')
    throw invalidRequest(`${field}.ttl must be 5m or 1h.`, `${field}.ttl`)
  return ttl === '1h' ? HOUR : MINUTES
}

/**
 * A Messages body as JSON text.
 * @param pricesHour where an hour in the cache has no price, the marks for it become ordinary ones
 */
export function messagesText(body: JsonObject, pricesHour: boolean): string {
  if (pricesHour) return exactJson(body)
  return exactJson(body, (_name, value) => (value === HOUR ? MINUTES : value))
}
