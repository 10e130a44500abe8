import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A witness as C2SP's tlog-cosignature has it, with nothing of the gateway's own code. */
export class TestWitness {
  readonly name: string
  /** NAME+ID+KEY. */
  readonly verifier: string
  private readonly privateKey: KeyObject
  private readonly id: Buffer

  constructor(name: string) {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const typed = Buffer.concat([Buffer.of(4), publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)])
    this.name = name
    this.privateKey = privateKey
    this.id = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4)
    this.verifier = `${name}+${this.id.toString('hex')}+${typed.toString('base64')}`
  }

  /** The line by which it cosigns a checkpoint. @param note the checkpoint, with or without signatures */
  line(note: string, atSeconds = Math.floor(Date.now() / 1_000)): string {
    const text = note.includes('\n\n') ? note.slice(0, note.indexOf('\n\n') + 1) : note
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(BigInt(atSeconds))
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${atSeconds}\n${text}`), this.privateKey)
    return `\u2014 ${this.name} ${Buffer.concat([this.id, time, signature]).toString('base64')}\n`
  }
}
