/** Bytes that browsers take for keys and signatures as well. */
export type Bytes = Uint8Array<ArrayBuffer>

/** A text in UTF-8. */
export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text)
}

/** Reads lower-case hex; undefined for any other text. */
export function fromHex(text: string): Bytes | undefined {
  if (!/^([0-9a-f]{2})*$/.test(text)) return undefined
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(at * 2, at * 2 + 2), 16))
}

/** Writes lower-case hex. */
export function toHex(bytes: Bytes): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Reads base64 with its padding; undefined for any other text, also where unused bits are set. */
export function fromBase64(text: string): Bytes | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return toBase64(bytes) === text ? bytes : undefined
}

/** Writes base64 with its padding. */
export function toBase64(bytes: Bytes): string {
  return btoa(String.fromCharCode(...bytes))
}

/** One after the other. */
export function concat(...parts: readonly Bytes[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Whether both are the same bytes. */
export function isSame(one: Bytes, other: Bytes): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at])
}
