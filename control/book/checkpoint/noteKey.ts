import { createPrivateKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto'
import { KEY_ID_BYTES, keyId, rawPublicKey, readVerifier, signaturesOf, splitNote } from './noteParts.ts'

// Signed notes as in https://c2sp.org/signed-note, with Ed25519 keys.

const ED25519 = 0x01
const SEED_BYTES = 32
const SECRET = /^PRIVATE\+KEY\+([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/
/** The DER prefix of the 32 bytes of a private key; RFC 8410, section 7. */
const PRIVATE_DER = Buffer.from('302e020100300506032b657004220420', 'hex')

/** @param seed the 32 bytes of a private key; RFC 8032, section 5.1.5 */
export function ed25519Key(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PRIVATE_DER, seed]), format: 'der', type: 'pkcs8' })
}

/** A key that signs notes under a name. */
export class NoteKey {
  readonly name: string
  private readonly key: KeyObject
  private readonly publicKey: Buffer

  private constructor(name: string, key: KeyObject) {
    this.name = name
    this.key = key
    this.publicKey = rawPublicKey(key)
  }

  /**
   * Reads a key as `generateNoteKey` writes it.
   * @throws Error that does not repeat the text
   */
  static of(secret: string): NoteKey {
    const [, name = '', id, encoded = ''] = SECRET.exec(secret) ?? []
    const bytes = Buffer.from(encoded, 'base64')
    if (bytes.length !== 1 + SEED_BYTES || bytes[0] !== ED25519) {
      throw new Error('the key is no Ed25519 key for signed notes')
    }
    const key = new NoteKey(name, ed25519Key(bytes.subarray(1)))
    if (key.id().toString('hex') !== id) throw new Error('the key does not fit the name in it')
    return key
  }

  /** The same key under another name: a signer of several logs has a name for each. */
  named(name: string): NoteKey {
    return new NoteKey(name, this.key)
  }

  /** The text that others check signatures with: name, id and public key. */
  verifier(): string {
    const encoded = Buffer.concat([Buffer.of(ED25519), this.publicKey]).toString('base64')
    return `${this.name}+${this.id().toString('hex')}+${encoded}`
  }

  /** @param text ends in a line feed */
  sign(text: string): string {
    const signature = Buffer.concat([this.id(), sign(null, Buffer.from(text, 'utf8'), this.key)])
    return `${text}\n— ${this.name} ${signature.toString('base64')}\n`
  }

  private id(): Buffer {
    return keyId(this.name, ED25519, this.publicKey)
  }
}

/** A new key, as the Go package golang.org/x/mod/sumdb/note writes it. */
export function generateNoteKey(name: string): string {
  const seed = randomBytes(SEED_BYTES)
  const id = keyId(name, ED25519, rawPublicKey(ed25519Key(seed))).toString('hex')
  const secret = `PRIVATE+KEY+${name}+${id}+${Buffer.concat([Buffer.of(ED25519), seed]).toString('base64')}`
  NoteKey.of(secret)
  return secret
}

/**
 * Checks a signed note.
 * @param verifier of the key that has to have signed it
 * @returns its text, or undefined where that key has not signed it
 */
export function openNote(note: string, verifier: string): string | undefined {
  const parts = splitNote(note)
  const signer = readVerifier(verifier, ED25519)
  if (parts === undefined || signer === undefined) return undefined
  const own = signaturesOf(signer, parts)
  const signed = Buffer.from(parts.text, 'utf8')
  const holds = own.every(({ bytes }) => verify(null, signed, signer.key, bytes.subarray(KEY_ID_BYTES)))
  return own.length > 0 && holds ? parts.text : undefined
}
