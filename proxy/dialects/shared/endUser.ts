import { createHash } from 'node:crypto'

/** The longest user that OpenAI takes, in characters; a SHA-256 in hex has as many. */
const USER_CHARACTERS_MAX = 64
/** An email address, or a phone number, which Anthropic refuses as a user. */
const PERSONAL = /@|^\+?\d[\d ().-]{6,}$/

/** The name of an end user for providers of the OpenAI dialect: a hash in place of one that is too long. */
export function userForOpenai(user: string): string {
  return user.length <= USER_CHARACTERS_MAX ? user : hashOf(user)
}

/** The name of an end user for providers of the Anthropic dialect: a hash in place of an address of a person. */
export function userForAnthropic(user: string): string {
  return PERSONAL.test(user) ? hashOf(user) : user
}

function hashOf(user: string): string {
  return createHash('sha256').update(user).digest('hex')
}
