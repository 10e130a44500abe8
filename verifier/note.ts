import { type Bytes, concat, fromBase64, isSame, utf8 } from './bytes.ts'
import { Failed, must } from './failed.ts'
import { sha256 } from './sha256.ts'
import { HASH_BYTES, type TreeHead } from './tree.ts'

// Signed notes and checkpoints as in https://c2sp.org/signed-note and https://c2sp.org/tlog-checkpoint.

const ED25519 = 0x01
const KEY_ID_BYTES = 4
const PUBLIC_KEY_BYTES = 32

/** Who signs, as a verifier key says it: NAME+ID+KEY. */
export interface NoteKey {
  readonly name: string
  readonly id: Bytes
  readonly publicKey: Bytes
}

/** Size and root that a checkpoint states for the log of heads. */
export interface Checkpoint extends TreeHead {
  readonly origin: string
}

interface Note {
  readonly text: string
  readonly signatures: ReadonlyArray<{ readonly name: string; readonly bytes: Bytes }>
}

/** @throws Failed where the text is no verifier key with Ed25519 */
export function readKey(text: string): NoteKey {
  const [, name = '', digits = '', encoded = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? []
  const typed = fromBase64(encoded)
  must(typed?.length === 1 + PUBLIC_KEY_BYTES && typed[0] === ED25519, 'the key is not one of NAME+ID+KEY with Ed25519')
  const id = sha256(concat(utf8(`${name}\n`), typed)).slice(0, KEY_ID_BYTES)
  const stated = Array.from(id, (byte) => byte.toString(16).padStart(2, '0')).join('')
  must(stated === digits, 'the id in the key is not that of the key')
  return { name, id, publicKey: typed.slice(1) }
}

/** Reads a checkpoint, whoever signed it. @throws Failed where it is none */
export function readCheckpoint(note: string): Checkpoint {
  const [origin = '', digits = '', encoded = ''] = readNote(note).text.split('\n')
  const [size, root] = [Number(digits), fromBase64(encoded)]
  must(/^(0|[1-9]\d*)$/.test(digits) && Number.isSafeInteger(size), 'the checkpoint states no size')
  must(origin !== '' && root?.length === HASH_BYTES, 'the checkpoint states no origin or no root')
  return { origin, size, root }
}

/** Checks that the key has signed a checkpoint of its own log. @throws Failed where it has not */
export async function checkSignature(note: string, key: NoteKey): Promise<void> {
  const { text, signatures } = readNote(note)
  const own = signatures.filter(({ name, bytes }) => name === key.name && isSame(bytes.slice(0, KEY_ID_BYTES), key.id))
  must(own.length > 0, `${key.name} has not signed the checkpoint`)
  must(text.startsWith(`${key.name}\n`), `the checkpoint is not one of ${key.name}`)
  for (const { bytes } of own) {
    const holds = await isSignature(bytes.slice(KEY_ID_BYTES), text, key)
    must(holds, `the signature of ${key.name} is wrong`)
  }
}

async function isSignature(signature: Bytes, text: string, { publicKey }: NoteKey): Promise<boolean> {
  const { subtle } = globalThis.crypto as Partial<typeof globalThis.crypto>
  must(subtle !== undefined, 'signatures cannot be verified on a page that came without TLS')
  const imported = await subtle.importKey('raw', publicKey, { name: 'Ed25519' }, false, ['verify']).catch(() => {
    throw new Failed('this browser does not know Ed25519 yet')
  })
  return subtle.verify({ name: 'Ed25519' }, imported, signature, utf8(text))
}

function readNote(note: string): Note {
  const end = note.lastIndexOf('\n\n')
  must(end >= 0, 'the checkpoint is no signed note')
  const lines = note.slice(end + 2).split('\n')
  must(lines.pop() === '' && lines.length > 0, 'the last signature of the checkpoint has no end')
  const signatures = lines.map((line) => {
    const [, name = '', encoded = ''] = /^\u2014 ([^+\s]+) (\S+)$/.exec(line) ?? []
    const bytes = fromBase64(encoded)
    must(bytes !== undefined && bytes.length > KEY_ID_BYTES, 'a signature of the checkpoint has not the form of one')
    return { name, bytes }
  })
  return { text: note.slice(0, end + 1), signatures }
}
