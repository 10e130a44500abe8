import { randomUUID } from 'node:crypto'
import type { ContractLimits } from '../../../contract/limits/limits.ts'
import { mergedTags, readTagsHeader, type SaltedTagging, type Tagging } from '../../../contract/money/tags.ts'
import type { Principal } from '../../access/principal.ts'
import type { RequestHead } from '../../server/exchange.ts'

const TAGS_HEADER = 'x-sluice-tags'

/**
 * The tags and the user of a request: the defaults of its key, replaced by those of its body, replaced by those of the header.
 * @param told by the body; absent for nothing
 * @returns undefined for a request without any, as most are
 * @throws GatewayError 400
 */
export function taggingOf(
  { tags: defaults }: Pick<Principal, 'tags'>,
  { tags: header = '' }: Pick<RequestHead, 'tags'>,
  told: Tagging | undefined,
  limits: ContractLimits,
): SaltedTagging | undefined {
  if (told === undefined && header === '' && defaults === '') return undefined
  const [param, asked] = header === '' ? ['metadata', ''] : [TAGS_HEADER, readTagsHeader(header, TAGS_HEADER, limits)]
  const tags = mergedTags([defaults, told?.tags ?? '', asked], param, limits)
  const user = told?.user ?? ''
  return tags === '' && user === '' ? undefined : { user, tags, salt: randomUUID() }
}
