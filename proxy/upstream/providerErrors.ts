import { providerErrorOf, statusOfError } from '../../contract/providers/providerError.ts'
import { classifyRefusal, type Refusal } from './refusal.ts'

/**
 * The meaning of an error inside an answer of status 200: an error event of a stream, or an error for a body.
 * @param error the value of the member `error`, or null for an answer that cannot be read at all
 */
export function refusalOfError(error: unknown): Refusal {
  return classifyRefusal(statusOfError(error), providerErrorOf(error), 0)
}
