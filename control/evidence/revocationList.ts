import { verify, type X509Certificate } from 'node:crypto'
import { DER, type DerValue, derChild, derChildren, derInteger, derTimeMs, readDer } from './der.ts'

/** A list of revoked certificates, RFC 5280 section 5.1. Only its signature shows its issuer. */
export interface RevocationList {
  /** The signed bytes. */
  readonly signed: Buffer
  readonly signature: Buffer
  /** Milliseconds since 1970; 0 where it does not say. */
  readonly nextUpdateMs: number
  readonly serials: ReadonlySet<bigint>
}

const isTime = (value: DerValue | undefined): value is DerValue =>
  value?.tag === DER.utcTime || value?.tag === DER.generalizedTime

/** Reads a list in DER. @throws EvidenceError malformed */
export function readRevocationList(bytes: Buffer): RevocationList {
  const parts = derChildren(readDer(bytes))
  const content = derChild(parts, 0, DER.sequence)
  const bits = derChild(parts, 2, DER.bitString).content
  const fields = derChildren(content)
  // The version, the algorithm and the issuer come before the times.
  const from = fields.findIndex(isTime)
  const [, next] = [fields[from], fields[from + 1]]
  const revoked = fields.slice(from + 1).find(({ tag }) => tag === DER.sequence)
  const entries = revoked === undefined ? [] : derChildren(revoked)
  return {
    signed: content.whole,
    signature: bits.subarray(1),
    nextUpdateMs: isTime(next) ? derTimeMs(next) : 0,
    serials: new Set(entries.map((entry) => derInteger(derChild(derChildren(entry), 0, DER.integer)))),
  }
}

/** Whether this issuer's key signs the list (ECDSA with SHA-256). */
export function isListOf(list: RevocationList, issuer: X509Certificate): boolean {
  try {
    return verify('sha256', list.signed, issuer.publicKey, list.signature)
  } catch {
    return false
  }
}

/** Whether a list of its issuer names this certificate. */
export function isRevoked(certificate: X509Certificate, issuer: X509Certificate, list: RevocationList): boolean {
  return list.serials.has(BigInt(`0x${certificate.serialNumber}`)) && isListOf(list, issuer)
}
