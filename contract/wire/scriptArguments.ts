const CRLF = '\r\n'
const LENGTHS_PREPARED = 512
const LENGTH_LINES = Array.from({ length: LENGTHS_PREPARED }, (_, length) => `$${length}${CRLF}`)

/**
 * A text as Redis reads it (bulk string of RESP2, https://redis.io/docs/latest/develop/reference/protocol-spec/).
 * @param text of one byte a character
 */
export function bulk(text: string): string {
  const { length } = text
  return (length < LENGTHS_PREPARED ? LENGTH_LINES[length] : `$${length}${CRLF}`) + text + CRLF
}

/** An argument of bytes that are at hand as a text of one character a byte. */
export class ByteText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Arguments or keys of a script that many calls have in common; they are put into Redis's form once. */
export class FixedArguments {
  readonly texts: readonly string[]
  private inWireForm: string | undefined

  /** @param texts of ASCII */
  constructor(...texts: readonly string[]) {
    this.texts = texts
  }

  /** All of them as Redis reads them. */
  get wire(): string {
    this.inWireForm ??= this.texts.map(bulk).join('')
    return this.inWireForm
  }
}
