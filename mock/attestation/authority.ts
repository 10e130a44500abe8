import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { der, explicit, integer, objectId, pem, TAG, utcTime } from '../der.ts'

/** A curve, and the hash that is signed with it. */
const CURVES = {
  'P-256': { hash: 'sha256', algorithm: objectId('2a8648ce3d040302') },
  'P-384': { hash: 'sha384', algorithm: objectId('2a8648ce3d040303') },
} as const
export type Curve = keyof typeof CURVES

const COMMON_NAME = objectId('550403')
const BASIC_CONSTRAINTS = objectId('551d13')
const VERSION_3 = Buffer.of(2)
const SERIAL_BYTES = 12
const VALID_FROM = new Date('2026-01-01T00:00:00Z')
const VALID_TO = new Date('2049-12-31T00:00:00Z')

export interface CertificateRequest {
  readonly name: string
  /** Default: P-256. */
  readonly curve?: Curve
  /** Whether it may issue certificates itself. */
  readonly isAuthority?: boolean
  /** An extension by its object id in hex, as DER. */
  readonly extensions?: Readonly<Record<string, Buffer>>
  readonly validTo?: Date
}

/** A key with its certificate, which can issue further ones. Only tests may trust it: the kept root's key is in the source. */
export class Authority {
  readonly key: KeyObject
  readonly certificate: Buffer
  readonly serial: Buffer
  private readonly curve: Curve
  private readonly name: Buffer

  private constructor(parts: { key: KeyObject; certificate: Buffer; serial: Buffer; curve: Curve; name: Buffer }) {
    this.key = parts.key
    this.certificate = parts.certificate
    this.serial = parts.serial
    this.curve = parts.curve
    this.name = parts.name
  }

  /** A root with its own key. */
  static root(name: string): Authority {
    return Authority.certified({ name, isAuthority: true }, undefined)
  }

  /** A root that was made before. Both are PEM of P-256. */
  static kept(name: string, key: string, certificate: string): Authority {
    const bytes = Buffer.from(certificate.replace(/-----[^-]+-----|\s/g, ''), 'base64')
    return new Authority({
      key: createPrivateKey(key),
      certificate: bytes,
      serial: Buffer.alloc(0),
      curve: 'P-256',
      name: nameOf(name),
    })
  }

  /** A certificate of a new key that this one signs. */
  issue(request: CertificateRequest): Authority {
    return Authority.certified(request, this)
  }

  get pem(): string {
    return pem(this.certificate)
  }

  /** Signs bytes with the hash of the curve: r and s, concatenated. */
  sign(bytes: Buffer): Buffer {
    return sign(CURVES[this.curve].hash, bytes, { key: this.key, dsaEncoding: 'ieee-p1363' })
  }

  /** A list of revoked certificates (RFC 5280 section 5.1) in DER. */
  revocationList(revoked: readonly Authority[], nextUpdate: Date): Buffer {
    const entries = revoked.map(({ serial }) => der(TAG.sequence, der(TAG.integer, serial), utcTime(VALID_FROM)))
    const content = der(
      TAG.sequence,
      integer(1),
      this.algorithm(),
      this.name,
      utcTime(VALID_FROM),
      utcTime(nextUpdate),
      ...(entries.length > 0 ? [der(TAG.sequence, ...entries)] : []),
    )
    return this.signed(content)
  }

  private signed(content: Buffer): Buffer {
    const signature = sign(CURVES[this.curve].hash, content, this.key)
    return der(TAG.sequence, content, this.algorithm(), der(TAG.bitString, Buffer.of(0), signature))
  }

  private algorithm(): Buffer {
    return der(TAG.sequence, CURVES[this.curve].algorithm)
  }

  private static certified(request: CertificateRequest, issuer: Authority | undefined): Authority {
    const { name, curve = 'P-256', isAuthority = false, extensions = {}, validTo = VALID_TO } = request
    const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: curve })
    const serial = Buffer.concat([Buffer.of(1), randomBytes(SERIAL_BYTES)])
    const own = new Authority({ key, certificate: Buffer.alloc(0), serial, curve, name: nameOf(name) })
    const signer = issuer ?? own
    const content = der(
      TAG.sequence,
      der(explicit(0), der(TAG.integer, VERSION_3)),
      der(TAG.integer, serial),
      signer.algorithm(),
      signer.name,
      der(TAG.sequence, utcTime(VALID_FROM), utcTime(validTo)),
      own.name,
      createPublicKey(key).export({ type: 'spki', format: 'der' }),
      der(explicit(3), der(TAG.sequence, constraints(isAuthority), ...extensionsOf(extensions))),
    )
    return new Authority({ key, certificate: signer.signed(content), serial, curve, name: own.name })
  }
}

function nameOf(name: string): Buffer {
  return der(TAG.sequence, der(TAG.set, der(TAG.sequence, COMMON_NAME, der(TAG.utf8String, Buffer.from(name)))))
}

function constraints(isAuthority: boolean): Buffer {
  const yes = der(TAG.boolean, Buffer.of(0xff))
  return der(
    TAG.sequence,
    BASIC_CONSTRAINTS,
    yes,
    der(TAG.octetString, der(TAG.sequence, ...(isAuthority ? [yes] : []))),
  )
}

function extensionsOf(extensions: Readonly<Record<string, Buffer>>): Buffer[] {
  return Object.entries(extensions).map(([id, value]) => der(TAG.sequence, objectId(id), der(TAG.octetString, value)))
}
