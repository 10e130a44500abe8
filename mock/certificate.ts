import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

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
/** Tags of DER, X.690. */
const BOOLEAN = 0x01
const INTEGER = 0x02
const BIT_STRING = 0x03
const OCTET_STRING = 0x04
const OBJECT_ID = 0x06
const UTF8_STRING = 0x0c
const UTC_TIME = 0x17
const SEQUENCE = 0x30
const SET = 0x31
const explicit = (number: number): number => 0xa0 + number
/** Tags of a name in a subjectAltName, RFC 5280 section 4.2.1.6. */
const DNS_NAME = 0x82
const IP_ADDRESS = 0x87

const ECDSA_WITH_SHA256 = objectId('2a8648ce3d040302')
const COMMON_NAME = objectId('550403')
const SUBJECT_ALT_NAME = objectId('551d11')
const BASIC_CONSTRAINTS = objectId('551d13')
const VERSION_3 = 2

/** Makes a key and a certificate for a host that is valid for a day; whoever trusts the certificate trusts the host. */
export function newCertificate(host: string): Certificate {
  const nowMs = Date.now()
  return makeCertificate({ host, validFrom: new Date(nowMs - DAY_MS), validTo: new Date(nowMs + DAY_MS) })
}

/** Makes a key of the curve P-256 and a certificate (X.509, RFC 5280) that it signs itself. */
export function makeCertificate({ host, validFrom, validTo }: CertificateOptions): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(SEQUENCE, ECDSA_WITH_SHA256)
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(host)))))
  const content = der(
    SEQUENCE,
    der(explicit(0), der(INTEGER, Buffer.of(VERSION_3))),
    // The bit in front keeps the number positive and as long as it is.
    der(INTEGER, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    algorithm,
    name,
    der(SEQUENCE, time(validFrom), time(validTo)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(explicit(3), der(SEQUENCE, altName(host), certificateAuthority())),
  )
  const signature = der(BIT_STRING, Buffer.of(0), sign('sha256', content, privateKey))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem(der(SEQUENCE, content, algorithm, signature)),
  }
}

function altName(host: string): Buffer {
  const isAddress = isIP(host) === 4
  const name = isAddress ? der(IP_ADDRESS, Buffer.from(host.split('.').map(Number))) : der(DNS_NAME, Buffer.from(host))
  return der(SEQUENCE, SUBJECT_ALT_NAME, der(OCTET_STRING, der(SEQUENCE, name)))
}

/** Lets the certificate stand among those that are trusted. */
function certificateAuthority(): Buffer {
  const yes = der(BOOLEAN, Buffer.of(0xff))
  return der(SEQUENCE, BASIC_CONSTRAINTS, yes, der(OCTET_STRING, der(SEQUENCE, yes)))
}

/** A time before the year 2050, by its last two digits. */
function time(date: Date): Buffer {
  return der(UTC_TIME, Buffer.from(`${date.toISOString().replace(/\D/g, '').slice(2, 14)}Z`))
}

function objectId(hex: string): Buffer {
  return der(OBJECT_ID, Buffer.from(hex, 'hex'))
}

/** A value with its tag and its length. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content])
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...long), content])
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').replace(/.{64}/g, '$&\n').trimEnd()
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}
