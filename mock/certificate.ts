import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import { der, explicit, objectId, pem, TAG, utcTime } from './der.ts'

/** A private key and a certificate that is signed with it, both as PEM. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

export interface CertificateOptions {
  /** A host name, or an address of version 4. */
  readonly host: string
  readonly validFrom: Date
  readonly validTo: Date
}

const DAY_MS = 86_400_000
/** Tags of a name in a subjectAltName, RFC 5280 section 4.2.1.6. */
const DNS_NAME = 0x82
const IP_ADDRESS = 0x87

const ECDSA_WITH_SHA256 = objectId('2a8648ce3d040302')
const COMMON_NAME = objectId('550403')
const SUBJECT_ALT_NAME = objectId('551d11')
const BASIC_CONSTRAINTS = objectId('551d13')
const VERSION_3 = 2

/** Makes a key and a self-signed certificate for a host, valid for a day; clients have to trust the certificate itself. */
export function newCertificate(host: string): Certificate {
  const nowMs = Date.now()
  return makeCertificate({ host, validFrom: new Date(nowMs - DAY_MS), validTo: new Date(nowMs + DAY_MS) })
}

/** Makes a key of the curve P-256 and a certificate (X.509, RFC 5280) that it signs itself. */
export function makeCertificate({ host, validFrom, validTo }: CertificateOptions): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(TAG.sequence, ECDSA_WITH_SHA256)
  const name = der(TAG.sequence, der(TAG.set, der(TAG.sequence, COMMON_NAME, der(TAG.utf8String, Buffer.from(host)))))
  const content = der(
    TAG.sequence,
    der(explicit(0), der(TAG.integer, Buffer.of(VERSION_3))),
    // The bit in front keeps the number positive and as long as it is.
    der(TAG.integer, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    algorithm,
    name,
    der(TAG.sequence, utcTime(validFrom), utcTime(validTo)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(explicit(3), der(TAG.sequence, altName(host), certificateAuthority())),
  )
  const signature = der(TAG.bitString, Buffer.of(0), sign('sha256', content, privateKey))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem(der(TAG.sequence, content, algorithm, signature)),
  }
}

function altName(host: string): Buffer {
  const isAddress = isIP(host) === 4
  const name = isAddress ? der(IP_ADDRESS, Buffer.from(host.split('.').map(Number))) : der(DNS_NAME, Buffer.from(host))
  return der(TAG.sequence, SUBJECT_ALT_NAME, der(TAG.octetString, der(TAG.sequence, name)))
}

/** The extension that marks the certificate as an authority (CA), so that clients accept it as a trust anchor. */
function certificateAuthority(): Buffer {
  const yes = der(TAG.boolean, Buffer.of(0xff))
  return der(TAG.sequence, BASIC_CONSTRAINTS, yes, der(TAG.octetString, der(TAG.sequence, yes)))
}
