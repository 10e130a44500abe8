const SEVEN_BITS = 0x80
const CHARACTERS = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))

// Fields of protobuf messages in their wire form (https://protobuf.dev/programming-guides/encoding/), one character a byte;
// fields with their default value are left out. `tag` is number and wire type of the field, as a varint.

/** A text of ASCII. */
export function text(tag: string, value: string): string {
  return value === '' ? '' : message(tag, value)
}

/** A message, or bytes. */
export function message(tag: string, value: string): string {
  return tag + varint(value.length) + value
}

/** @param value a safe integer, not negative */
export function count(tag: string, value: number): string {
  return value === 0 ? '' : tag + varint(value)
}

export function flag(tag: string, value: boolean): string {
  return value ? `${tag}\x01` : ''
}

/** @param value a safe integer, not negative */
function varint(value: number): string {
  let bytes = ''
  let rest = value
  while (rest >= SEVEN_BITS) {
    const low = rest % SEVEN_BITS
    bytes += CHARACTERS[SEVEN_BITS + low]
    rest = (rest - low) / SEVEN_BITS
  }
  return bytes + CHARACTERS[rest]
}
