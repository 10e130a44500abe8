import { invalidRequest } from '../../contract/errors/errors.ts'
import { type Tagging, tagsText, userText } from '../../contract/money/tags.ts'
import { isJsonObject, type JsonObject } from '../../contract/std/jsonObject.ts'
import { isGiven } from './fields.ts'
import type { JsonLimits } from './limits.ts'

/** The tags and the user that a body names; absent for none. */
export interface Tagged {
  readonly tagging?: Tagging
}

const NOTHING: Tagged = {}

/** Reads `metadata` and `user` of a body in a format of OpenAI. @throws GatewayError 400 */
export function readTagging({ metadata, user }: JsonObject, limits: JsonLimits): Tagged {
  return isGiven(metadata) || isGiven(user) ? taggingOf(metadata, user, 'user', limits) : NOTHING
}

/** Reads `metadata` of a request in the format of Messages, which names the user alone. @throws GatewayError 400 */
export function readMessagesTagging({ metadata }: JsonObject, limits: JsonLimits): Tagged {
  const user = isJsonObject(metadata) ? metadata['user_id'] : undefined
  return isGiven(user) ? taggingOf(undefined, user, 'metadata.user_id', limits) : NOTHING
}

function taggingOf(metadata: unknown, user: unknown, userParam: string, limits: JsonLimits): Tagged {
  if (isGiven(metadata) && !isJsonObject(metadata)) {
    throw invalidRequest('metadata must be an object of strings.', 'metadata')
  }
  const tags = isJsonObject(metadata) ? tagsText(Object.entries(metadata), 'metadata', limits) : ''
  // Anything but a text is refused where the member is read for the provider.
  const said = typeof user === 'string' ? userText(user, userParam, limits) : ''
  return tags === '' && said === '' ? NOTHING : { tagging: { user: said, tags } }
}
