import { promises } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress, withoutBrackets } from './ipAddress.ts'
import { HostError, type LookupAll, pinnedLookup, resolveHost } from './resolveHost.ts'

/**
 * The `lookup` option of net.connect, tls.connect and undici for hosts named by untrusted parties: every connection resolves
 * the name once, checks all its addresses, and connects to one of them. A name that was given a private address after it was
 * registered is thus refused. IP addresses in place of a name are not looked up: see `isForbiddenHost`.
 * @param resolve defaults to the system's resolver
 */
export function publicLookup(resolve: LookupAll = promises.lookup): LookupFunction {
  return (hostname, options, callback) => {
    const { signal } = new AbortController()
    resolveHost(hostname, { allowPrivate: false, signal, lookup: resolve }).then(
      (addresses) => pinnedLookup(addresses)(hostname, options, callback),
      (error: unknown) => callback(error instanceof Error ? error : new HostError('not_found', hostname), ''),
    )
  }
}

/** Whether a host is an address that is not public. @param hostname as in `URL.hostname` */
export function isForbiddenHost(hostname: string): boolean {
  const host = withoutBrackets(hostname)
  return isIP(host) !== 0 && !isPublicAddress(host)
}
