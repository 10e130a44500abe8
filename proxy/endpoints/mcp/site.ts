import type { RequestHead } from '../../server/exchange.ts'

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/** Where the gateway is reached. */
export interface Site {
  /** As the operator has said; '' when not. */
  readonly publicUrl: string
  /** The address that the process listens on. */
  readonly listenHost: string
}

/**
 * Whether a request comes from where it may, as the protocol asks of servers against DNS rebinding: a page's origin has
 * to be the gateway's own, and a gateway that listens on this machine alone is asked for by a name of this machine.
 */
export function isOwnSite(head: Pick<RequestHead, 'host' | 'origin'>, { publicUrl, listenHost }: Site): boolean {
  const publicHost = URL.canParse(publicUrl) ? new URL(publicUrl).host : ''
  const host = head.host.toLowerCase()
  const isLocal = LOOPBACK.test(listenHost) || listenHost === '::1'
  if (isLocal && host !== '' && host !== publicHost && !LOOPBACK.test(host)) return false
  if (head.origin === '') return true
  if (!URL.canParse(head.origin)) return false
  const origin = new URL(head.origin)
  if (publicHost !== '' && origin.origin === new URL(publicUrl).origin) return true
  return isLocal ? LOOPBACK.test(origin.host) : publicHost === '' && origin.host === host
}
