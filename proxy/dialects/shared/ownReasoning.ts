import { type PackBound, pack, unpack } from './packed.ts'

const TYPE = 'reasoning'

/**
 * The signature of reasoning that its provider has not signed: many clients send no thinking back that has none. It says
 * nothing of the text, and no provider gets it.
 */
export const OWN_SIGNATURE = pack({ type: TYPE }, { packedCharactersMax: Number.POSITIVE_INFINITY })

/**
 * Unsigned reasoning as a text that clients keep and send back, with its words, since some clients keep nothing else of it.
 * @returns the signature alone for words that are too long, which the client has in the summary; '' for no words
 */
export function packReasoning(words: string, bound: PackBound): string {
  return words === '' ? '' : pack({ type: TYPE, text: words }, bound) || OWN_SIGNATURE
}

/** The words that such a text holds; '' for none, and for any other text. */
export function unpackReasoning(packed: unknown, bound: PackBound): string {
  const { type, text } = unpack(packed, bound) ?? {}
  return type === TYPE && typeof text === 'string' ? text : ''
}
