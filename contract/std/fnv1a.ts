/**
 * FNV-1a of the code units of a text, http://www.isthe.com/chongo/tech/comp/fnv/, as a signed 32-bit integer.
 * @param from the first code unit that counts
 */
export function fnv1a(text: string, from = 0): number {
  let hash = 0x811c9dc5 | 0
  for (let i = from; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** Spreads the bits of a hash evenly: the finalizer of MurmurHash3. @returns an unsigned 32-bit integer */
export function spread32(bits: number): number {
  let hash = bits
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The place of a name among all of 32 bits, which every process computes alike. */
export function placeOf(name: string): number {
  return spread32(fnv1a(name))
}
