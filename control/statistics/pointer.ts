/**
 * The value at a JSON Pointer (RFC 6901) in an answer; its members have no "~".
 * @throws Error where there is no such member
 */
export function at(answer: unknown, pointer: string): unknown {
  let found = answer
  for (const name of pointer.split('/').slice(1)) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) {
      throw new Error(`the answer has no ${pointer}`)
    }
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  return found
}
