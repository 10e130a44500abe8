import { verify } from 'node:crypto'
import {
  KEY_ID_BYTES,
  type NoteParts,
  type NoteSignature,
  readVerifier,
  signaturesOf,
  type Verifier,
} from './noteParts.ts'

// Cosignatures of witnesses as in https://c2sp.org/tlog-cosignature, with Ed25519 keys.

const COSIGNATURE = 0x04
const TIME_BYTES = 8
const SIGNATURE_BYTES = 64

/** The statement of a witness that at this time the checkpoint was the largest that it had seen, and contained all before. */
export interface Cosignature {
  /** Its verifier key. */
  readonly witness: string
  readonly atSeconds: number
  /** Its line of the note, with the line feed. */
  readonly line: string
}

/** The public key of a witness. */
export class WitnessKey {
  readonly name: string
  /** Name, id and key. */
  readonly text: string
  private readonly verifier: Verifier

  private constructor(text: string, verifier: Verifier) {
    this.name = verifier.name
    this.text = text
    this.verifier = verifier
  }

  /** Reads a verifier key. @throws Error when it is not the key of a witness that signs with Ed25519 */
  static of(text: string): WitnessKey {
    const verifier = readVerifier(text, COSIGNATURE)
    if (verifier === undefined) throw new Error('this is no Ed25519 key of a witness, whose type is 4')
    return new WitnessKey(text, verifier)
  }

  /**
   * Reads the cosignatures of the witness on a checkpoint.
   * @returns the latest of its cosignatures, 'none' where it has none, 'wrong' where one of them is invalid
   */
  read(note: NoteParts): Cosignature | 'none' | 'wrong' {
    let latest: Cosignature | 'none' = 'none'
    for (const signature of signaturesOf(this.verifier, note)) {
      const atSeconds = this.timeOf(signature, note.text)
      if (atSeconds === undefined) return 'wrong'
      if (latest !== 'none' && latest.atSeconds >= atSeconds) continue
      latest = { witness: this.text, atSeconds, line: signature.line }
    }
    return latest
  }

  private timeOf({ bytes }: NoteSignature, text: string): number | undefined {
    const stamped = bytes.subarray(KEY_ID_BYTES)
    if (stamped.length !== TIME_BYTES + SIGNATURE_BYTES) return undefined
    const time = stamped.readBigUInt64BE()
    const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`, 'utf8')
    const holds = verify(null, message, this.verifier.key, stamped.subarray(TIME_BYTES))
    return holds && time <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(time) : undefined
  }
}
