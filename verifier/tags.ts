import { must } from './failed.ts'
import type { Members } from './members.ts'
import { sha256 } from './sha256.ts'

/** The user and the tags of a request. */
export interface Tagging {
  /** By which the entry has them, in hex. */
  readonly hash: string
  /** null where the receipt shows the hash alone, as to those whose request it is not. */
  readonly told: { readonly user: string; readonly tags: ReadonlyMap<string, string>; readonly salt: string } | null
}

/** @returns null for a request without tags and user. @throws Failed */
export function readTagging(receipt: Members): Tagging | null {
  if (!receipt.has('tags_hash')) {
    must(!receipt.has('tags') && !receipt.has('user'), 'receipt.tags have no tags_hash')
    return null
  }
  const hash = receipt.text('tags_hash')
  must(/^[0-9a-f]{64}$/.test(hash), 'receipt.tags_hash is not 32 bytes in hex')
  if (!receipt.has('tags_salt')) {
    must(!receipt.has('tags') && !receipt.has('user'), 'receipt.tags have no tags_salt')
    return { hash, told: null }
  }
  const tags = receipt.object('tags')
  const texts = tags.texts()
  must(texts.size === tags.names().length, 'receipt.tags has a value that is not a text')
  const user = receipt.has('user') ? receipt.text('user') : ''
  return { hash, told: { user, tags: texts, salt: receipt.text('tags_salt') } }
}

/** Checks that the hash is that of the user and the tags. @returns what they are. @throws Failed */
export function checkTagging({ hash, told }: Tagging): string {
  if (told === null) return 'the receipt shows the hash of its tags alone'
  const { user, tags, salt } = told
  const pairs = [...tags].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort()
  const text = new TextEncoder().encode(`${salt}\n${encoded(user)}\n${pairs.join(',')}\n`)
  const own = [...sha256(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  must(own === hash, 'tags_hash is not that of the user and the tags')
  const shown = [...tags].map(([name, value]) => `${name}=${value}`).join(', ')
  return [user === '' ? '' : `user ${user}`, shown === '' ? '' : `tags ${shown}`].filter(Boolean).join(', ')
}

function encoded(text: string): string {
  must(!/\p{Cs}/u.test(text), 'receipt.tags has half of a character')
  return encodeURIComponent(text)
}
