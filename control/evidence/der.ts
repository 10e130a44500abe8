import { malformed } from './evidenceError.ts'

/** Tags of DER, X.690. */
export const DER = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  /** The extensions of a certificate, RFC 5280 section 4.1. */
  extensions: 0xa3,
} as const

/** A value of DER. */
export interface DerValue {
  readonly tag: number
  readonly content: Buffer
  /** With tag and length. */
  readonly whole: Buffer
}

const LENGTH_BYTES_MAX = 4
/** Values within one: a list of revoked certificates has the most. */
const CHILDREN_MAX = 4_096
/** Serial numbers have at most 20 bytes (RFC 5280 section 4.1.2.2), the other integers here fewer. */
const INTEGER_BYTES_MAX = 32

/** The one value that these bytes are. @throws EvidenceError malformed */
export function readDer(bytes: Buffer): DerValue {
  const value = valueAt(bytes, 0)
  if (value.whole.length !== bytes.length) malformed('DER: bytes behind the value')
  return value
}

/** The values within a constructed one. @throws EvidenceError malformed */
export function derChildren({ content }: DerValue): DerValue[] {
  const children: DerValue[] = []
  for (let offset = 0; offset < content.length; ) {
    if (children.length === CHILDREN_MAX) malformed(`DER: more than ${CHILDREN_MAX} values within one`)
    const child = valueAt(content, offset)
    children.push(child)
    offset += child.whole.length
  }
  return children
}

/** The child at a place, which has this tag. @throws EvidenceError malformed */
export function derChild(children: readonly DerValue[], place: number, tag: number): DerValue {
  const child = children[place]
  if (child?.tag !== tag) malformed(`DER: expected the tag ${tag} at place ${place}`)
  return child
}

/** An integer, by its two's complement. @throws EvidenceError malformed */
export function derInteger({ tag, content }: DerValue): bigint {
  const isInteger = tag === DER.integer && content.length > 0 && content.length <= INTEGER_BYTES_MAX
  if (!isInteger) malformed('DER: expected an integer')
  return BigInt.asIntN(content.length * 8, BigInt(`0x${content.toString('hex')}`))
}

/** A time of X.509 in milliseconds since 1970. @throws EvidenceError malformed */
export function derTimeMs({ tag, content }: DerValue): number {
  const text = content.toString('latin1')
  // RFC 5280 section 4.1.2.5.1: two digits of the year are those of 1950 to 2049.
  const full = tag === DER.utcTime ? `${Number(text.slice(0, 2)) >= 50 ? '19' : '20'}${text}` : text
  const found = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full)
  if ((tag !== DER.utcTime && tag !== DER.generalizedTime) || found === null) malformed('DER: expected a time')
  const [, year, month, day, hour, minute, second] = found
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (Number.isNaN(ms)) malformed('DER: expected a time')
  return ms
}

/**
 * The value of an extension of a certificate; undefined where it has none of this name.
 * @param objectId the content of the OBJECT IDENTIFIER in hex
 * @throws EvidenceError malformed
 */
export function extensionOf(certificate: Buffer, objectId: string): Buffer | undefined {
  const content = derChild(derChildren(readDer(certificate)), 0, DER.sequence)
  const extensions = derChildren(content).find(({ tag }) => tag === DER.extensions)
  if (extensions === undefined) return undefined
  for (const extension of derChildren(derChild(derChildren(extensions), 0, DER.sequence))) {
    const parts = derChildren(extension)
    if (derChild(parts, 0, DER.objectId).content.toString('hex') !== objectId) continue
    return derChild(parts, parts.length - 1, DER.octetString).content
  }
  return undefined
}

function valueAt(bytes: Buffer, start: number): DerValue {
  const tag = bytes[start]
  const first = bytes[start + 1]
  if (tag === undefined || first === undefined) malformed('DER: a value is cut off')
  if ((tag & 0x1f) === 0x1f) malformed('DER: a tag of several bytes')
  let from = start + 2
  let length = first
  if (first >= 0x80) {
    const lengthBytes = first & 0x7f
    if (lengthBytes === 0 || lengthBytes > LENGTH_BYTES_MAX) malformed('DER: a length that is not definite')
    if (from + lengthBytes > bytes.length) malformed('DER: a value is cut off')
    length = bytes.readUIntBE(from, lengthBytes)
    from += lengthBytes
  }
  if (from + length > bytes.length) malformed('DER: a value is cut off')
  return { tag, content: bytes.subarray(from, from + length), whole: bytes.subarray(start, from + length) }
}
