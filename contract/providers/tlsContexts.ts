import { createHash, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Secret } from './providerKeys.ts'

/** Combinations of files of which a context is kept. */
const KEPT_MAX = 512

/** Paths of PEM files; '' for none. */
export interface TlsFiles {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

/** A context of TLS, and the digest of what it was made of. */
export interface TlsContext {
  readonly context: SecureContext
  readonly digest: string
}

export interface TlsReading {
  /** Absent where there is none, not even of earlier contents. */
  readonly tls?: TlsContext
  /** The file that cannot be used as it is now. */
  readonly unread?: { readonly file: string; readonly fault: string }
}

/**
 * The contexts of TLS that are made of files. A certificate and its key are replaced one after the other, and for the moment in
 * between, or while a file cannot be used, the earlier ones stay.
 */
export class TlsContexts {
  private readonly kept = new Map<string, TlsContext>()

  /** @param read reads a file as it is now */
  of({ caFile, certFile, keyFile }: TlsFiles, read: (file: string) => Secret): TlsReading {
    const name = JSON.stringify([caFile, certFile, keyFile])
    const known = this.kept.get(name)
    const [ca, cert, key] = [caFile, certFile, keyFile].map((file) =>
      file === '' ? undefined : { file, ...read(file) },
    )
    const unusable = (file: string, fault: string): TlsReading => ({
      ...(known && { tls: known }),
      unread: { file, fault },
    })
    const empty = [ca, cert, key].find((one) => one !== undefined && one.fault !== '')
    if (empty !== undefined) return unusable(empty.file, empty.fault)
    const hash = createHash('sha256').update(JSON.stringify([ca?.text, cert?.text, key?.text]))
    const digest = hash.digest('hex')
    if (known?.digest === digest) return { tls: known }
    const bad = [ca, cert].find((one) => one !== undefined && !isCertificate(one.text))
    if (bad !== undefined) return unusable(bad.file, 'no certificate as PEM')
    try {
      const files = { ...(ca && { ca: ca.text }), ...(cert && { cert: cert.text }), ...(key && { key: key.text }) }
      const made = { context: createSecureContext(files), digest }
      this.keep(name, made)
      return { tls: made }
    } catch {
      return unusable(keyFile || caFile, 'not the key of cert_file')
    }
  }

  private keep(name: string, made: TlsContext): void {
    this.kept.delete(name)
    this.kept.set(name, made)
    const [oldest] = this.kept.keys()
    if (oldest !== undefined && this.kept.size > KEPT_MAX) this.kept.delete(oldest)
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}
