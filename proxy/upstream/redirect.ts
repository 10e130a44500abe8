import { mayBePublicHost, parseWebUrl } from '../../contract/net/publicUrl.ts'
import { HeaderBlock } from './transport/headerBlock.ts'
import type { UpstreamRequest } from './transport/transport.ts'

// RFC 9110, section 15.4; 304 is no redirect.
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Another origin gets nothing of the provider's own: no credentials, and no certificate. */
const BARE = new HeaderBlock(['accept', '*/*', 'accept-encoding', 'identity'])

export function isRedirect(status: number): boolean {
  return REDIRECTS.has(status)
}

/**
 * The request that follows the redirect of a GET. Credentials stay at their origin; another one has to be public, so that no
 * provider makes the gateway ask servers of its own network.
 * @param location as the header has it
 * @returns undefined for an address that may not be followed
 */
export function redirected(request: UpstreamRequest, location: string | undefined): UpstreamRequest | undefined {
  const base = new URL(request.origin + request.path)
  const url =
    location !== undefined && URL.canParse(location, base.href) ? parseWebUrl(new URL(location, base).href) : undefined
  if (url === undefined) return undefined
  const path = url.pathname + url.search
  if (url.origin === base.origin) return { ...request, path }
  if (url.protocol !== 'https:' || !mayBePublicHost(url)) return undefined
  const { origin, host } = url
  return { ...request, origin, host, path, headers: BARE, traceHeaders: undefined, publicOnly: true, reach: undefined }
}
