import { providerErrorOf } from '../../contract/providers/providerError.ts'
import { isJsonObject } from '../../contract/std/jsonObject.ts'
import { classifyRefusal, type Refusal } from './refusal.ts'

/** The statuses that types of error events correspond to; events of other types are faults of the provider. */
const STATUS_OF_TYPE: ReadonlyMap<unknown, number> = new Map([
  ['invalid_request_error', 400],
  ['BadRequestError', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

/** Members of an error that may hold the status which the answer should have had. */
const STATUSES = ['code', 'status', 'status_code', 'statusCode']

/**
 * The meaning of an error inside an answer of status 200: an error event of a stream, or an error for a body.
 * @param error the value of the member `error`, or null for an answer that cannot be read at all
 */
export function refusalOfError(error: unknown): Refusal {
  const { type, ...members } = isJsonObject(error) ? error : {}
  const stated = STATUSES.map((name) => Number(members[name])).find((status) => status >= 400 && status < 600)
  return classifyRefusal(stated ?? STATUS_OF_TYPE.get(type) ?? 502, providerErrorOf(error), 0)
}
