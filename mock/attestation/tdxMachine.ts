import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { der, integer, objectId, TAG } from '../der.ts'
import { Authority } from './authority.ts'

// The layout of quotes: Intel TDX DCAP Quoting Library API, appendix 3.
const INTEL_VENDOR = Buffer.from('939a7233f79c4ca9940a0db3957f0607', 'hex')
const QE_MRSIGNER = Buffer.from('dc9e2a7c6f948f17474e34a7fc43ed030f7c1563f1babddf6340c82e0e54a8c5', 'hex')
const SGX_EXTENSION = '2a864886f84d010d01'
const SEPT_VE_DISABLE = Buffer.from('0000001000000000', 'hex')
const DEBUG = Buffer.from('0100001000000000', 'hex')

/** The family of platforms and the versions of all of its 16 components. */
export const PLATFORM = { fmspc: 'b0c06f000000', svn: 5, pceSvn: 11 }

/** The state that a machine reports; absent fields are those of a sound machine. */
export interface TdxState {
  /** 48 bytes each, in hex. */
  readonly mrtd?: string
  readonly rtmr3?: string
  readonly debug?: boolean
  /** The version of the quote. */
  readonly version?: 4 | 5
  /** Of the security versions that the quote shows. */
  readonly teeSvn?: number
}

/** A machine with the keys of a trust domain, whose platform certificate is issued by the mock's own root. */
export class TdxMachine {
  readonly platformAuthority: Authority
  readonly pck: Authority
  private readonly root: Authority
  private readonly attestationKey: KeyObject

  constructor(root: Authority) {
    this.root = root
    this.platformAuthority = root.issue({ name: 'Test PCK Platform CA', isAuthority: true })
    this.pck = this.platformAuthority.issue({
      name: 'Test PCK Certificate',
      extensions: { [SGX_EXTENSION]: platformExtension() },
    })
    this.attestationKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  }

  /** A quote. @param reportData 64 bytes */
  quote(reportData: Buffer, state: TdxState = {}): Buffer {
    const { version = 4 } = state
    const header = Buffer.concat([u16(version), u16(2), u32(0x81), Buffer.alloc(4), INTEL_VENDOR, Buffer.alloc(20)])
    const body = bodyOf(reportData, state)
    const long = Buffer.concat([u16(3), u32(648), body, Buffer.alloc(64)])
    const signed = Buffer.concat([header, version === 4 ? body : long])
    const data = this.signatureData(signed)
    return Buffer.concat([signed, u32(data.length), data])
  }

  /** A provider's answer to a request for evidence. @param nonce 32 bytes in hex */
  evidence(nonce: string, state: TdxState = {}): Record<string, unknown> {
    const signer = Buffer.concat([
      createHash('sha256').update(this.pck.certificate).digest().subarray(0, 20),
      Buffer.alloc(12),
    ])
    return {
      nonce,
      signing_address: `0x${signer.subarray(0, 20).toString('hex')}`,
      intel_quote: this.quote(Buffer.concat([signer, Buffer.from(nonce, 'hex')]), state).toString('hex'),
    }
  }

  private signatureData(signed: Buffer): Buffer {
    const jwk = createPublicKey(this.attestationKey).export({ format: 'jwk' })
    const point = Buffer.concat([Buffer.from(jwk.x ?? '', 'base64url'), Buffer.from(jwk.y ?? '', 'base64url')])
    const authData = randomBytes(32)
    const report = Buffer.alloc(384)
    QE_MRSIGNER.copy(report, 128)
    report.writeUInt16LE(2, 256)
    createHash('sha256').update(point).update(authData).digest().copy(report, 320)
    const chain = Buffer.from(this.pck.pem + this.platformAuthority.pem + this.root.pem)
    const certification = Buffer.concat([
      report,
      this.pck.sign(report),
      u16(authData.length),
      authData,
      u16(5),
      u32(chain.length),
      chain,
    ])
    const signature = sign('sha256', signed, { key: this.attestationKey, dsaEncoding: 'ieee-p1363' })
    return Buffer.concat([signature, point, u16(6), u32(certification.length), certification])
  }
}

function bodyOf(
  reportData: Buffer,
  { mrtd = '11'.repeat(48), rtmr3 = '33'.repeat(48), debug, teeSvn }: TdxState,
): Buffer {
  return Buffer.concat([
    Buffer.alloc(16, teeSvn ?? PLATFORM.svn),
    // MRSEAM, MRSIGNERSEAM and SEAMATTRIBUTES of Intel's module.
    Buffer.alloc(48, 0xee),
    Buffer.alloc(48 + 8),
    debug === true ? DEBUG : SEPT_VE_DISABLE,
    Buffer.alloc(8),
    Buffer.from(mrtd, 'hex'),
    Buffer.alloc(3 * 48),
    Buffer.alloc(3 * 48, 0x22),
    Buffer.from(rtmr3, 'hex'),
    reportData,
  ])
}

function platformExtension(): Buffer {
  const pair = (id: string, value: Buffer): Buffer => der(TAG.sequence, objectId(`${SGX_EXTENSION}${id}`), value)
  const components = Array.from({ length: 16 }, (_, i) =>
    pair(`02${(i + 1).toString(16).padStart(2, '0')}`, integer(PLATFORM.svn)),
  )
  return der(
    TAG.sequence,
    pair('02', der(TAG.sequence, ...components, pair('0211', integer(PLATFORM.pceSvn)))),
    pair('04', der(TAG.octetString, Buffer.from(PLATFORM.fmspc, 'hex'))),
  )
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
