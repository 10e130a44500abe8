import { type Bytes, concat, fromBase64, isSame, utf8 } from './bytes.ts'
import { isEd25519 } from './ed25519.ts'
import { must } from './failed.ts'
import { sha256 } from './sha256.ts'
import { HASH_BYTES, type TreeHead } from './tree.ts'

// Signed notes, checkpoints and cosignatures as in https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint and
// https://c2sp.org/tlog-cosignature.

/** Types of keys. Keys of logs sign the text of a note, keys of witnesses also the time. */
const KEY_TYPES = { log: 0x01, witness: 0x04 } as const
const TIME_BYTES = 8
const KEY_ID_BYTES = 4
const PUBLIC_KEY_BYTES = 32

/** A signer, as in a verifier key: NAME+ID+KEY. */
export interface NoteKey {
  readonly name: string
  readonly id: Bytes
  readonly publicKey: Bytes
}

/** Size and root that a checkpoint states for the log of heads. */
export interface Checkpoint extends TreeHead {
  readonly origin: string
}

interface NoteSignature {
  readonly name: string
  /** The first bytes of the key's id, then the signature. */
  readonly bytes: Bytes
}

interface Note {
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** @throws Failed where the text is no verifier key with Ed25519 of this type */
export function readKey(text: string, type: keyof typeof KEY_TYPES = 'log'): NoteKey {
  const [, name = '', digits = '', encoded = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? []
  const typed = fromBase64(encoded)
  const isKey = typed?.length === 1 + PUBLIC_KEY_BYTES && typed[0] === KEY_TYPES[type]
  must(isKey, `the key is not one of a ${type}, NAME+ID+KEY with Ed25519`)
  const id = sha256(concat(utf8(`${name}\n`), typed)).slice(0, KEY_ID_BYTES)
  const stated = Array.from(id, (byte) => byte.toString(16).padStart(2, '0')).join('')
  must(stated === digits, 'the id in the key is not that of the key')
  return { name, id, publicKey: typed.slice(1) }
}

/** Reads a checkpoint without checking its signers. @throws Failed if it is malformed */
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
  const own = signatures.filter((signature) => isOf(signature, key))
  must(own.length > 0, `${key.name} has not signed the checkpoint`)
  must(text.startsWith(`${key.name}\n`), `the checkpoint is not one of ${key.name}`)
  for (const { bytes } of own) {
    const holds = await isEd25519(bytes.slice(KEY_ID_BYTES), text, key.publicKey)
    must(holds, `the signature of ${key.name} is wrong`)
  }
}

/**
 * Checks that a witness has cosigned a checkpoint: it has seen none before that this one does not contain.
 * @returns when it did, in seconds since 1970
 * @throws Failed where it has not
 */
export async function checkCosignature(note: string, key: NoteKey): Promise<bigint> {
  const { text, signatures } = readNote(note)
  const own = signatures.find((signature) => isOf(signature, key))
  must(own !== undefined && own.bytes.length > KEY_ID_BYTES + TIME_BYTES, `${key.name} has not cosigned the checkpoint`)
  const time = new DataView(own.bytes.buffer).getBigUint64(KEY_ID_BYTES)
  const signature = own.bytes.slice(KEY_ID_BYTES + TIME_BYTES)
  const holds = await isEd25519(signature, `cosignature/v1\ntime ${time}\n${text}`, key.publicKey)
  must(holds, `the cosignature of ${key.name} is wrong`)
  return time
}

function isOf({ name, bytes }: NoteSignature, key: NoteKey): boolean {
  return name === key.name && isSame(bytes.slice(0, KEY_ID_BYTES), key.id)
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
