import { createPublicKey, hash, type KeyObject } from 'node:crypto'

// The parts of signed notes: https://c2sp.org/signed-note.

export const PUBLIC_KEY_BYTES = 32
export const KEY_ID_BYTES = 4
const VERIFIER = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/
const SIGNATURE = /^\u2014 ([^+\s]+) ([A-Za-z0-9+/]+={0,2})$/u
/** The DER prefix of the 32 bytes of a public Ed25519 key; RFC 8410, section 4. */
const PUBLIC_DER = Buffer.from('302a300506032b6570032100', 'hex')

/** The key that a verifier key names. */
export interface Verifier {
  readonly name: string
  /** The first bytes of its signatures, which also show the type. */
  readonly id: Buffer
  readonly key: KeyObject
}

/** A signature of a note. */
export interface NoteSignature {
  readonly name: string
  /** Id of the key, then bytes that the key's type defines. */
  readonly bytes: Buffer
  /** With its end. */
  readonly line: string
}

export interface NoteParts {
  /** With its last line feed. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** @param publicKey the 32 bytes of an Ed25519 key */
export function keyId(name: string, type: number, publicKey: Buffer): Buffer {
  const input = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), publicKey])
  return hash('sha256', input, 'buffer').subarray(0, KEY_ID_BYTES)
}

/** The 32 bytes of an Ed25519 key. */
export function rawPublicKey(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(PUBLIC_DER.length)
}

/**
 * Reads a verifier key, `NAME+ID+KEY`.
 * @param type of the signatures that the key makes
 * @returns undefined unless the text is an Ed25519 key of this type with a matching id
 */
export function readVerifier(text: string, type: number): Verifier | undefined {
  const [, name = '', idHex, encoded = ''] = VERIFIER.exec(text) ?? []
  const bytes = Buffer.from(encoded, 'base64')
  const publicKey = bytes.subarray(1)
  if (bytes[0] !== type || publicKey.length !== PUBLIC_KEY_BYTES) return undefined
  const id = keyId(name, type, publicKey)
  if (id.toString('hex') !== idHex) return undefined
  const key = createPublicKey({ key: Buffer.concat([PUBLIC_DER, publicKey]), format: 'der', type: 'spki' })
  return { name, id, key }
}

/** Splits a note into its parts; undefined when it is malformed. Nothing of it is verified. */
export function splitNote(note: string): NoteParts | undefined {
  const end = note.lastIndexOf('\n\n')
  const lines = note.slice(end + 2).split('\n')
  if (end < 0 || lines.pop() !== '' || lines.length === 0) return undefined
  const signatures: NoteSignature[] = []
  for (const line of lines) {
    const [, name, encoded = ''] = SIGNATURE.exec(line) ?? []
    const bytes = Buffer.from(encoded, 'base64')
    if (name === undefined || bytes.toString('base64') !== encoded) return undefined
    signatures.push({ name, bytes, line: `${line}\n` })
  }
  return { text: note.slice(0, end + 1), signatures }
}

/** The signatures of a note that are by this key. */
export function signaturesOf({ name, id }: Verifier, { signatures }: NoteParts): NoteSignature[] {
  return signatures.filter((one) => one.name === name && one.bytes.subarray(0, KEY_ID_BYTES).equals(id))
}
