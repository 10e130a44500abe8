/**
 * FNV-1a of the code units of a text, http://www.isthe.com/chongo/tech/comp/fnv/, as a signed 32-bit integer.
 * @param from the first code unit that counts
 */
export function fnv1a(text: string, from = 0): number {
  let hash = 0x811c9dc5 | 0
  for (let i = from; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
