import type { ProviderError } from './providerError.ts'
import { faultOf } from './providerFault.ts'

const MESSAGE_CHARACTERS_MAX = 300
const NAMED = /\b(?:sk|key|org|proj|req)[-_][A-Za-z0-9_-]{6,}/g
/** Keys and ids are of random characters; names that people choose are words with a number at most. */
const RANDOM_CHARACTERS_MIN = 12

/** A provider's message without addresses, keys and organisation ids, cut to a sensible length. */
export function cleanMessage(message: string): string {
  return message
    .replace(/https?:\/\/\S+/gi, '')
    .replace(NAMED, (name) => (name.split(/[-_]/).some(isRandom) ? '' : name))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MESSAGE_CHARACTERS_MAX)
}

/** The part of a provider's error that the client may read: its clean message, unless it is about the gateway's own account. */
export function shownMessage(status: number, error: ProviderError): string {
  return faultOf(status, error).owner === 'account' ? '' : cleanMessage(error.message)
}

function isRandom(part: string): boolean {
  return part.length >= RANDOM_CHARACTERS_MIN && /[0-9]/.test(part) && /[A-Za-z]/.test(part)
}
