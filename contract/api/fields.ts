import type { JsonSchema } from './route.ts'

const NO_CONTROL_CHARACTERS = '^[^\\x00-\\x1f\\x7f]*$'

/**
 * Parts of the schemas of the account API. A description completes the sentence "FIELD must be ...", which is the error
 * message that clients see for an invalid field.
 */
export function text(description: string, lengthMax: number, more: JsonSchema = {}): JsonSchema {
  return { type: 'string', format: 'text', maxLength: lengthMax, pattern: NO_CONTROL_CHARACTERS, description, ...more }
}

export function flag(description: string): JsonSchema {
  return { type: 'boolean', description: `true or false: ${description}` }
}

/** True, false, or null for undecided. */
export function flagOrNone(description: string): JsonSchema {
  return { type: ['boolean', 'null'], description: `true or false: ${description}; or null for not decided` }
}

/** An amount of US dollars. */
export function usd(what: string): JsonSchema {
  return {
    type: 'string',
    format: 'usd',
    description: `${what} as a decimal string of US dollars such as "2.5", with at most nine decimals`,
  }
}

/** An amount of US dollars, or null for no limit. */
export function usdOrNone(what: string): JsonSchema {
  const description = `${what} as a decimal string of US dollars such as "2.5", or null for none`
  return { type: ['string', 'null'], format: 'usd', description }
}

/** An amount of coin above zero. */
export function coinAmount(what: string): JsonSchema {
  const description = `${what} as a decimal string of coin such as "2.5", above zero and with at most nine decimals`
  return { type: 'string', format: 'usd', description }
}

export function time(what: string): JsonSchema {
  return { type: 'string', format: 'time', description: `${what} such as "2027-01-31T12:00:00Z"` }
}

export function timeOrNone(what: string): JsonSchema {
  return { type: ['string', 'null'], format: 'time', description: `${what} such as "2027-01-31T12:00:00Z", or null` }
}

export function textList(what: string, pattern: string, itemsMax: number): JsonSchema {
  const description = `an array of at most ${itemsMax} different ${what}; an empty one allows all`
  const items = { type: 'string', pattern, maxLength: 256, description: `one of the ${what}` }
  return { type: 'array', items, maxItems: itemsMax, uniqueItems: true, description }
}

/** How many entries a page has. */
export function pageLimit(most: number): JsonSchema {
  return { type: 'integer', minimum: 1, maximum: most, description: `an integer from 1 to ${most}` }
}

/** Where a page begins: after the entry with this id. */
export function pageAfter(prefix: string): JsonSchema {
  const pattern = `^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`
  return { type: 'string', pattern, description: `the id (${prefix}_...) of the last entry of the page before` }
}

export const WALLET_PROOF = {
  message: text(
    'the text that the wallet signed, in the format of EIP-4361 (Sign-In with Ethereum), at most 4,096 characters long',
    4_096,
    { pattern: '^[^\\x00]+$' },
  ),
  signature: {
    type: 'string',
    pattern: '^0x([0-9a-fA-F]{2}){1,4096}$',
    description: 'the signature of that text in hex, beginning with 0x',
  },
}
