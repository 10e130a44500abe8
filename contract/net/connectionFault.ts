/** The causes of failed connections: the label of a counter, so that the set is closed. */
export interface FaultCause {
  readonly kind: 'name' | 'refused' | 'unreachable' | 'reset' | 'certificate' | 'tls' | 'proxy' | 'other'
  /** The error code of the system or of TLS, such as DEPTH_ZERO_SELF_SIGNED_CERT; '' without one. */
  readonly code: string
}

const KIND_OF: ReadonlyMap<string, FaultCause['kind']> = new Map([
  ['ENOTFOUND', 'name'],
  ['EAI_AGAIN', 'name'],
  ['ECONNREFUSED', 'refused'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETUNREACH', 'unreachable'],
  ['ECONNRESET', 'reset'],
  ['EPIPE', 'reset'],
])
// The codes of certificates are names of X509_verify_cert in OpenSSL, and Node's own for another name.
const CERTIFICATE = /CERT|^UNABLE_TO_|^HOSTNAME_MISMATCH|^INVALID_(?:CA|PURPOSE)|^CRL_/
const TLS = /^(?:ERR_SSL_|ERR_TLS_|EPROTO)/
/** See TunnelError. */
const PROXY = /^PROXY_/

/** The cause of a failed connection if the system gave one; undefined where it gave none, as for a timeout. */
export function connectionFault(error: unknown): FaultCause | undefined {
  if (!(error instanceof Error)) return undefined
  const code = codeOf(error)
  const known = KIND_OF.get(code)
  if (known !== undefined) return { kind: known, code }
  if (PROXY.test(code)) return { kind: 'proxy', code }
  if (CERTIFICATE.test(code)) return { kind: 'certificate', code }
  return { kind: TLS.test(code) ? 'tls' : 'other', code }
}

// Attempts at several addresses of a name fail together, with one error for each.
function codeOf(error: Error): string {
  const code: unknown = Reflect.get(error, 'code')
  if (typeof code === 'string') return code
  const [first]: unknown[] = error instanceof AggregateError ? error.errors : []
  return first instanceof Error ? codeOf(first) : ''
}
