/**
 * A message with all of its fields; one that is absent is undefined. The compiler names a field that a mapping leaves out,
 * which the generated types, whose fields are all optional, do not.
 */
export type Fields<Message> = {
  [Name in Exclude<keyof Message, '$unknowns'>]-?: Message[Name] | undefined
}

/**
 * Takes what a mapping to a message has left of a value, which has to be nothing: the compiler names a member that the message
 * would lose. A spread into a message drops it silently.
 */
export function nothingLeft(_left: Readonly<Record<string, never>>): void {}
