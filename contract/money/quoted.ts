const PLAIN = /^[\w./:@-]*$/

/** A text as JSON; the usual names and ids hold nothing that needs escaping and skip the serializer. */
export function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}
