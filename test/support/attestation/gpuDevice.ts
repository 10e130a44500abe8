import { randomBytes } from 'node:crypto'
import type { Authority } from '../../../mock/attestation/authority.ts'

/** A GPU that answers SPDM 1.1, with a certificate by a root of the test's own. */
export class GpuDevice {
  private readonly leaf: Authority
  private readonly chain: string

  constructor(root: Authority) {
    const model = root.issue({ name: 'Test GPU model', curve: 'P-384', isAuthority: true })
    this.leaf = model.issue({ name: 'Test GPU', curve: 'P-384' })
    this.chain = this.leaf.pem + model.pem + root.pem
  }

  /** The request and the answer of GET_MEASUREMENTS. @param nonce 32 bytes in hex */
  messages(nonce: string): Buffer {
    const measurements = Buffer.concat([Buffer.from([1, 1, 51, 0, 0x80, 48, 0]), randomBytes(48)])
    const request = Buffer.concat([Buffer.from([0x11, 0xe0, 1, 0xff]), Buffer.from(nonce, 'hex'), Buffer.of(0)])
    const answer = Buffer.concat([
      Buffer.from([0x11, 0x60, 0, 0, 1, measurements.length, 0, 0]),
      measurements,
      randomBytes(32),
      Buffer.from([4, 0, 3, 0, 0, 0]),
    ])
    const signed = Buffer.concat([request, answer])
    return Buffer.concat([signed, this.leaf.sign(signed)])
  }

  /** The member `nvidia_payload` of a provider's answer. */
  payload(nonce: string): string {
    const certificate = Buffer.from(this.chain).toString('base64')
    const evidence_list = [{ certificate, evidence: this.messages(nonce).toString('base64'), arch: 'HOPPER' }]
    return JSON.stringify({ nonce, evidence_list, arch: 'HOPPER' })
  }
}
