import { createHash, createPublicKey, verify } from 'node:crypto'

/** What a checkpoint says, once its signature was checked. */
export interface ReadCheckpoint {
  readonly origin: string
  readonly size: number
  readonly root: Buffer
}

/** How the DER form of an Ed25519 public key begins. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/**
 * Reads a checkpoint as the texts of C2SP have it, signed-note and tlog-checkpoint, with nothing of the gateway's own code.
 * @param key verifier key, NAME+ID+KEY
 * @throws Error with what is wrong
 */
export function readCheckpoint(note: string, key: string): ReadCheckpoint {
  const [name = '', idHex = '', encoded = ''] = splitKey(key)
  const typed = Buffer.from(encoded, 'base64')
  if (typed[0] !== 1 || typed.length !== 33) throw new Error('the key is no Ed25519 key')
  const id = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4)
  if (id.toString('hex') !== idHex) throw new Error('the key does not have its id')
  const end = note.lastIndexOf('\n\n')
  if (end < 0) throw new Error('the note has no signatures')
  const text = note.slice(0, end + 1)
  const lines = note.slice(end + 2).split('\n')
  if (lines.pop() !== '') throw new Error('the last signature has no end')
  const own = lines.flatMap((line) => {
    const [, signer, value = ''] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? []
    const bytes = Buffer.from(value, 'base64')
    return signer === name && bytes.subarray(0, 4).equals(id) ? [bytes.subarray(4)] : []
  })
  if (own.length === 0) throw new Error('the key has not signed')
  const publicKey = createPublicKey({ key: Buffer.concat([SPKI, typed.subarray(1)]), format: 'der', type: 'spki' })
  for (const signature of own) {
    if (!verify(null, Buffer.from(text), publicKey, signature)) throw new Error('the signature is wrong')
  }
  const [origin = '', size = '', root = ''] = text.split('\n')
  if (origin === '' || !/^(0|[1-9][0-9]*)$/.test(size)) throw new Error('the text is no checkpoint')
  return { origin, size: Number(size), root: Buffer.from(root, 'base64') }
}

/** Splits at the first two plus signs; the last part is base64, which may have more of them. */
function splitKey(key: string): string[] {
  const [name = '', id = '', ...rest] = key.split('+')
  return [name, id, rest.join('+')]
}
