import { connectionFault } from '../../../contract/net/connectionFault.ts'
import type { ForwardProxy } from '../../../contract/net/environmentProxies.ts'
import type { Reach } from '../../../contract/providers/reach.ts'
import type { CallError } from '../../runtime/net/httpCall.ts'

/** A call of a provider that got no answer. */
export interface Unreached {
  readonly url: URL
  readonly timeoutMs: number
  readonly reach: Reach | undefined
  /** Paths of the catalog entry; '' for none. */
  readonly caFile: string
  readonly certFile: string
}

/** undici's code for a connection that the other side has ended. */
const ENDED = 'UND_ERR_SOCKET'
/** Alerts of TLS about the certificate of the gateway, or the lack of one. */
const ALERT =
  /_ALERT_(?:CERTIFICATE|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|UNKNOWN_CA|NO_CERTIFICATE|HANDSHAKE_FAILURE)/

/** Why a provider was not reached, in words. */
export function unreachedText({ fault, cause }: CallError, call: Unreached): string {
  const { url, timeoutMs, reach, caFile } = call
  const { hostname, host } = url
  if (fault === 'not_found') return `the name ${hostname} cannot be resolved; check base_url`
  if (fault === 'timeout') return `${host} does not answer within ${timeoutMs / 1_000} s`
  if (fault === 'too_large') return `${host} answers with more than any list or short answer has; check base_url`
  const { kind = 'other', code = '' } = connectionFault(cause) ?? {}
  if (kind === 'proxy' && reach?.proxy !== undefined) return proxyText(reach.proxy, code, host)
  if (kind === 'refused') return `nothing listens at ${host}`
  if (ALERT.test(code)) return `TLS to ${host} fails: ${code}; ${certificateHint(call)}`
  if (kind === 'certificate') {
    const hint =
      caFile === '' ? 'set ca_file if an authority of your own has signed it' : `${caFile} does not have its authority`
    return `TLS to ${host} fails: ${code}; ${hint}`
  }
  if (kind === 'tls') return `TLS to ${host} fails: ${code}`
  // After TLS 1.3 has begun, many servers end a connection that has shown no certificate without a word.
  if (kind === 'reset' || code === ENDED) {
    return `${host} ends the connection without an answer${url.protocol === 'https:' ? `; ${certificateHint(call)}` : ''}`
  }
  return `${host} is not reached: ${code === '' ? fault : code}`
}

function certificateHint({ certFile }: Unreached): string {
  return certFile === ''
    ? 'it may want a client certificate: set cert_file and key_file'
    : `it may not take the client certificate ${certFile}`
}

function proxyText({ host, port, login }: ForwardProxy, code: string, server: string): string {
  const name = `the proxy ${host}:${port}`
  const reason = code.replace(/^PROXY_/, '')
  if (reason === '407') {
    return login === ''
      ? `${name} wants a user and a password (HTTP 407); set env or file of proxy`
      : `${name} does not take the user and the password (HTTP 407)`
  }
  if (/^[0-9]{3}$/.test(reason)) {
    return Number(reason) >= 500
      ? `${name} does not reach ${server} (HTTP ${reason})`
      : `${name} refuses to connect to ${server} (HTTP ${reason})`
  }
  if (reason === 'ECONNREFUSED') return `nothing listens at ${name}`
  if (reason === 'ENOTFOUND' || reason === 'EAI_AGAIN') return `the name of ${name} cannot be resolved`
  if (reason === 'TIMEOUT') return `${name} does not answer`
  if (reason === 'MALFORMED') return `${name} answers in no form of HTTP; check whether it is a proxy`
  if (reason === 'ENDED') return `${name} ends the connection without an answer`
  return `${name} is not reached: ${reason}`
}
