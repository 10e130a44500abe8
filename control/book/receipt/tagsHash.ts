import { createHash } from 'node:crypto'
import { type SaltedTagging, taggingText } from '../../../contract/money/tags.ts'

/** The hash by which the leaf of a receipt has its user and its tags, in hex. */
export function tagsHash(tagging: SaltedTagging): string {
  return createHash('sha256').update(taggingText(tagging)).digest('hex')
}

/** SQL of whether a row of `receipts` has the hash of its user and its tags, in a leaf that has it; '' for none. */
export const HAS_TAGS_HASH = `CASE WHEN end_user = '' AND tags = '' THEN tags_hash = '' ELSE leaf_layout >= 4 AND
  tags_hash = encode(sha256(convert_to(concat_ws(E'\\n', tags_salt, end_user, tags, ''), 'UTF8')), 'hex') END`
