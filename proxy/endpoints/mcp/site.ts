import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server'
import { isLoopbackHost } from '../../../contract/net/ipAddress.ts'
import type { RequestHead } from '../../server/exchange.ts'

/** The address of the gateway. */
export interface Site {
  /** As configured; '' when it is not. */
  readonly publicUrl: string
  /** The address that the process listens on. */
  readonly listenHost: string
}

/**
 * Whether the origin and host of a request are allowed, as the protocol requires against DNS rebinding: a page's origin has
 * to be the gateway's own, and a gateway that listens on this machine alone has to be addressed by a name of this machine.
 */
export function isOwnSite(head: Pick<RequestHead, 'host' | 'origin'>, { publicUrl, listenHost }: Site): boolean {
  const { origin } = head
  const host = head.host.toLowerCase()
  const own = URL.canParse(publicUrl) ? new URL(publicUrl) : undefined
  const localNames = isLoopbackHost(listenHost) ? [...localhostAllowedHostnames(), listenHost] : undefined
  if (localNames !== undefined && host !== own?.host && !validateHostHeader(host, localNames).ok) return false
  if (origin === '' || origin === own?.origin) return true
  if (localNames !== undefined) return validateOriginHeader(origin, localNames).ok
  return own === undefined && URL.canParse(origin) && new URL(origin).host === host
}
