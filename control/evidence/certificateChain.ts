import { X509Certificate } from 'node:crypto'
import { EvidenceError, malformed } from './evidenceError.ts'
import { isRevoked, type RevocationList } from './revocationList.ts'

/** More certificates than any vendor puts between a device and its root. */
const CERTIFICATES_MAX = 10
const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+?-----END CERTIFICATE-----/g

/** The certificates of a text of PEM, in their order. @throws EvidenceError malformed */
export function readPemChain(text: string): X509Certificate[] {
  const found = text.match(PEM) ?? []
  if (found.length === 0) malformed('there is no certificate where the chain of certificates should be')
  if (found.length > CERTIFICATES_MAX) malformed(`there are more than ${CERTIFICATES_MAX} certificates`)
  return found.map((pem) => {
    try {
      return new X509Certificate(pem)
    } catch {
      return malformed('a certificate cannot be read')
    }
  })
}

/** The roots, the time and the revocation lists that chains are checked against. */
export interface Anchors {
  /** Self-signed, pinned. */
  readonly roots: readonly X509Certificate[]
  /** Milliseconds since 1970. */
  readonly nowMs: number
  readonly revocations?: readonly RevocationList[]
}

/**
 * Checks a chain of certificates (RFC 5280 section 6.1, without policies and names): each is signed by the next one, all are
 * valid now and not revoked, and the last one is a pinned root or signed by one. Certificates after a root are ignored.
 * @param chain the leaf first
 * @returns the leaf
 * @throws EvidenceError unknown_root, bad_signature, certificate_expired, revoked
 */
export function verifyChain(chain: readonly X509Certificate[], anchors: Anchors): X509Certificate {
  const [leaf] = chain
  if (leaf === undefined) malformed('the chain of certificates is empty')
  for (const [place, certificate] of chain.entries()) {
    requireCurrent(certificate, anchors.nowMs)
    if (anchors.roots.some((root) => root.raw.equals(certificate.raw))) {
      if (place === 0) throw new EvidenceError('unknown_root', 'the root itself stands for a device')
      return leaf
    }
    const issuer = chain[place + 1] ?? anchors.roots.find((root) => certificate.checkIssued(root))
    if (issuer === undefined) break
    requireIssued(certificate, issuer)
    for (const list of anchors.revocations ?? []) {
      if (isRevoked(certificate, issuer, list)) {
        throw new EvidenceError('revoked', `the certificate ${nameOf(certificate)} is revoked`)
      }
    }
    if (chain[place + 1] === undefined) {
      requireCurrent(issuer, anchors.nowMs)
      return leaf
    }
  }
  throw new EvidenceError('unknown_root', 'the chain of certificates does not end at a pinned root')
}

function requireCurrent(certificate: X509Certificate, nowMs: number): void {
  const isValid = Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo)
  if (!isValid) throw new EvidenceError('certificate_expired', `${nameOf(certificate)} is not valid now`)
}

function requireIssued(certificate: X509Certificate, issuer: X509Certificate): void {
  const isIssued = issuer.ca && certificate.checkIssued(issuer) && isSignedBy(certificate, issuer)
  if (!isIssued) throw new EvidenceError('bad_signature', `${nameOf(certificate)} is not signed by ${nameOf(issuer)}`)
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.verify(issuer.publicKey)
  } catch {
    return false
  }
}

/** The name of a certificate in messages: its common name on one line. */
function nameOf({ subject }: X509Certificate): string {
  return (/CN=([^\n]*)/.exec(subject ?? '')?.[1] ?? 'without a name').replace(/[^ -~]/g, '?').slice(0, 80)
}
