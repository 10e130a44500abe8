/** Tags of DER, X.690. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
} as const

/** The tag of a field that is marked by its number. */
export const explicit = (number: number): number => 0xa0 + number

/** An object id. @param hex its content */
export function objectId(hex: string): Buffer {
  return der(TAG.objectId, Buffer.from(hex, 'hex'))
}

/** A time before the year 2050, by its last two digits. */
export function utcTime(date: Date): Buffer {
  return der(TAG.utcTime, Buffer.from(`${date.toISOString().replace(/\D/g, '').slice(2, 14)}Z`))
}

/** A number that is not negative. */
export function integer(value: number): Buffer {
  const hex = value.toString(16)
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return der(TAG.integer, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes)
}

/** A value with its tag and its length. */
export function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content])
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...long), content])
}

/** The PEM text of a certificate. */
export function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').replace(/.{64}/g, '$&\n').trimEnd()
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}
