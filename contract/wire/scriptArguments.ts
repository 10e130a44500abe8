/** An argument of bytes in the form of a text with one character per byte. */
export class ByteText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Arguments or keys of a script that many calls have in common. */
export class FixedArguments {
  readonly texts: readonly string[]

  /** @param texts of ASCII */
  constructor(...texts: readonly string[]) {
    this.texts = texts
  }
}
