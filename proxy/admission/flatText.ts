/**
 * The same text in one piece of memory. V8 keeps what was put together as a tree of its parts, until somebody needs the
 * characters; of a text that outlives its request, every part would outlive it and be copied by each collection.
 * @see https://github.com/davidmarkclements/flatstr
 */
export function flatText(text: string): string {
  // A conversion to a number reads the characters, for which V8 puts them together.
  Number(text)
  return text
}
