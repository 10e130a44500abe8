/**
 * The same text as one flat string. V8 keeps a concatenated string as a tree of its parts until its characters are read; in
 * a text that outlives its request, every part would outlive it too and be copied by each garbage collection.
 * @see https://github.com/davidmarkclements/flatstr
 */
export function flatText(text: string): string {
  // A conversion to a number reads the characters, for which V8 puts them together.
  Number(text)
  return text
}
