import { randomBytes } from 'node:crypto'
import type { Authority } from '../../../mock/attestation/authority.ts'
import { der, integer, TAG } from '../../../mock/der.ts'

const AMD = '2b060104019c78'
const DEBUG = 1n << 19n
/** A bit that every policy has. */
const ALWAYS = 1n << 17n

export interface SnpState {
  readonly measurement?: string
  readonly debug?: boolean
  /** Of the report; the certificate has 9. */
  readonly microcode?: number
  readonly otherChip?: boolean
}

/** A chip with its key, and the certificates that a root of the test's own vouches for it with. */
export class SnpMachine {
  readonly vcek: Authority
  readonly certificates: string
  private readonly chipId = randomBytes(64)

  constructor(root: Authority) {
    const signing = root.issue({ name: 'SEV-Test', curve: 'P-384', isAuthority: true })
    this.vcek = signing.issue({
      name: 'SEV-VCEK',
      curve: 'P-384',
      extensions: {
        [`${AMD}010301`]: integer(3),
        [`${AMD}010302`]: integer(0),
        [`${AMD}010303`]: integer(8),
        [`${AMD}010308`]: integer(9),
        [`${AMD}0104`]: der(TAG.octetString, this.chipId),
      },
    })
    this.certificates = this.vcek.pem + signing.pem + root.pem
  }

  /** A report, as the firmware's ABI lays it out. @param reportData 64 bytes */
  report(reportData: Buffer, state: SnpState = {}): Buffer {
    const { measurement = '44'.repeat(48), debug, microcode = 9, otherChip } = state
    const bytes = Buffer.alloc(1184)
    bytes.writeUInt32LE(3, 0)
    bytes.writeBigUInt64LE(ALWAYS | (debug === true ? DEBUG : 0n), 8)
    bytes.writeUInt32LE(1, 0x34)
    reportData.copy(bytes, 0x50)
    Buffer.from(measurement, 'hex').copy(bytes, 0x90)
    Buffer.from([3, 0, 0, 0, 0, 0, 8, microcode]).copy(bytes, 0x180)
    bytes.writeUInt8(0x19, 0x188)
    if (otherChip !== true) this.chipId.copy(bytes, 0x1a0)
    const signature = this.vcek.sign(bytes.subarray(0, 0x2a0))
    for (const half of [0, 1]) {
      Buffer.from(signature.subarray(half * 48, half * 48 + 48))
        .reverse()
        .copy(bytes, 0x2a0 + half * 72)
    }
    return bytes
  }

  /** What a provider answers. @param nonce 32 bytes in hex */
  evidence(nonce: string, state: SnpState = {}): Record<string, unknown> {
    const reportData = Buffer.concat([Buffer.alloc(32), Buffer.from(nonce, 'hex')])
    return { nonce, snp_report: this.report(reportData, state).toString('base64'), snp_certificates: this.certificates }
  }
}
