import { invalidRequest } from '../errors/errors.ts'
import type { ContractLimits } from '../limits/limits.ts'

/**
 * The tags of a request and its user as receipts have them, '' for none. A user is percent-encoded (encodeURIComponent); tags
 * are `name=value,...` with encoded names and values, in the order of their bytes. Both are ASCII and one text each, so that
 * they can be hashed.
 */
export interface Tagging {
  readonly user: string
  readonly tags: string
}

/** A tagging with what makes its hash impossible to guess. */
export interface SaltedTagging extends Tagging {
  readonly salt: string
}

export type TagLimits = Pick<
  ContractLimits,
  'tagsMax' | 'tagNameCharactersMax' | 'tagValueCharactersMax' | 'tagsBytesMax'
>

// C0, DEL and C1, and halves of characters beyond the first 65,536, which have no UTF-8.
const UNFIT = /\p{Cc}|\p{Cs}/u
/** A header is ASCII; what else a tag has is percent-encoded. */
const HEADER = /^[\x20-\x7e]*$/

/**
 * The canonical text of some tags.
 * @param param the field that they come from, which errors name
 * @throws GatewayError 400 for a name or a value that no tag may have, and for too many of them
 */
export function tagsText(
  pairs: readonly (readonly [name: string, value: unknown])[],
  param: string,
  limits: TagLimits,
) {
  const texts = pairs.map(([name, value]) => tagText(name, value, param, limits))
  return bounded(texts.sort(), param, limits)
}

/**
 * Reads the header x-sluice-tags: `name=value`, joined by commas; spaces around them do not count, and names and values may be
 * percent-encoded.
 * @throws GatewayError 400
 */
export function readTagsHeader(header: string, param: string, limits: TagLimits): string {
  if (!HEADER.test(header))
    throw invalidRequest(`${param} must be ASCII; write other characters percent-encoded.`, param)
  const pairs = header.split(',').flatMap((part) => (part.trim() === '' ? [] : [readPair(part.trim(), param)]))
  const names = new Set(pairs.map(([name]) => name))
  if (names.size < pairs.length) throw invalidRequest(`${param} names a tag twice.`, param)
  return tagsText(pairs, param, limits)
}

/**
 * Tags of several sources as one; a later source replaces tags of the same name.
 * @param texts canonical texts
 * @throws GatewayError 400 where they are too many together
 */
export function mergedTags(texts: readonly string[], param: string, limits: TagLimits): string {
  const given = texts.filter((text) => text !== '')
  if (given.length < 2) return given[0] ?? ''
  const byName = new Map(given.flatMap(tagsIn).map((tag) => [tag.slice(0, tag.indexOf('=')), tag]))
  return bounded([...byName.values()].sort(), param, limits)
}

/** The tags of a canonical text, each `name=value`. */
export function tagsIn(text: string): string[] {
  return text === '' ? [] : text.split(',')
}

/** The tags of a canonical text by their names, decoded. */
export function tagsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    tagsIn(text).map((tag) => {
      const end = tag.indexOf('=')
      return [decoded(tag.slice(0, end)), decoded(tag.slice(end + 1))]
    }),
  )
}

/** The canonical text of a user. @throws GatewayError 400 */
export function userText(user: string, param: string, limits: Pick<ContractLimits, 'userBytesMax'>): string {
  if (UNFIT.test(user)) throw invalidRequest(`${param} must have no control characters.`, param)
  const text = encodeURIComponent(user)
  const max = limits.userBytesMax
  if (text.length > max) throw invalidRequest(`${param} may have at most ${max} bytes, percent-encoded.`, param)
  return text
}

/** A user or a part of a tag as it was before it was encoded. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The text whose SHA-256, in hex, is the last line of the leaf of a receipt with tags or a user. */
export function taggingText({ user, tags, salt }: SaltedTagging): string {
  return `${salt}\n${user}\n${tags}\n`
}

function readPair(part: string, param: string): [name: string, value: string] {
  const end = part.indexOf('=')
  try {
    if (end > 0) return [decodeURIComponent(part.slice(0, end).trim()), decodeURIComponent(part.slice(end + 1).trim())]
  } catch {
    // Said below.
  }
  throw invalidRequest(`${param} must hold tags as name=value, joined by commas, percent-encoded where needed.`, param)
}

function tagText(name: string, value: unknown, param: string, limits: TagLimits): string {
  const { tagNameCharactersMax: nameMax, tagValueCharactersMax: valueMax } = limits
  const fits = name !== '' && name.length <= nameMax && typeof value === 'string' && value.length <= valueMax
  if (!fits || UNFIT.test(name) || UNFIT.test(value)) {
    const what = `strings of at most ${valueMax} characters under names of 1 to ${nameMax}, without control characters`
    throw invalidRequest(`${param} must hold ${what}.`, param)
  }
  return `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
}

function bounded(tags: readonly string[], param: string, { tagsMax, tagsBytesMax }: TagLimits): string {
  const text = tags.join(',')
  if (tags.length <= tagsMax && text.length <= tagsBytesMax) return text
  const message = `${param} may hold ${tagsMax} tags of ${tagsBytesMax} bytes together, percent-encoded, with the defaults of the key.`
  throw invalidRequest(message, param)
}
