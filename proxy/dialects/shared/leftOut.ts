/** The text of a result that says nothing but that its call has failed. */
export const FAILED = 'error'

const TEXT_DATA_URL = /^data:(?:text\/[\w.+-]+|application\/json)(?:;[\w-]+=[^;,]*)*;base64,/i

/**
 * The text in place of a part of a history that no provider is shown, so that the model knows that something was there.
 * @param kind the type of the part, as its client names it
 */
export function leftOut(kind: unknown): string {
  const named = typeof kind === 'string' && /^[\w-]{1,64}$/.test(kind) ? kind : 'part'
  return `[${named} left out]`
}

/** The text of a data URL in base64; null where it is none of a text. */
export function textOfDataUrl(url: unknown): string | null {
  const head = typeof url === 'string' ? TEXT_DATA_URL.exec(url) : null
  return head === null ? null : textOfBase64(String(url).slice(head[0].length))
}

/** The text that base64 encodes, read as UTF-8. */
export function textOfBase64(data: string): string {
  return Buffer.from(data, 'base64').toString('utf8')
}
