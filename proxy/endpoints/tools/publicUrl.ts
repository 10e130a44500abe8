import { Resolver } from 'node:dns/promises'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { mayBePublicHost, parseWebUrl } from '../../../contract/net/publicUrl.ts'
import { HostError, type LookupAll, resolveHost } from '../../../contract/net/resolveHost.ts'

/** Whether a URL is on the public internet, judged by its text alone. */
export function mayBePublic(text: string): boolean {
  const url = parseWebUrl(text)
  return url !== undefined && mayBePublicHost(url)
}

/**
 * Refuses addresses that are not on the public internet, before a tool's upstream gets them: private IP addresses, and names
 * with any address that is private, loopback, link-local or otherwise special. A name that cannot be resolved here is left
 * to the upstream, because the upstream connects to it and not the gateway.
 * @param param the member of the input
 * @param lookup how names are resolved
 * @returns the address as the upstream has to get it
 * @throws GatewayError tool_input_invalid
 */
export async function checkPublicUrl(
  value: unknown,
  param: string,
  timeoutMs: number,
  lookup: LookupAll = lookUpFor(timeoutMs),
): Promise<string> {
  const url = typeof value === 'string' ? parseWebUrl(value) : undefined
  if (url === undefined || !mayBePublicHost(url)) throw notPublic(param)
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    await resolveHost(url.hostname, { allowPrivate: false, signal, lookup })
  } catch (error) {
    if (!(error instanceof HostError)) throw error
    if (error.fault === 'not_public') throw notPublic(param)
  }
  return url.href
}

function notPublic(param: string): GatewayError {
  const what = 'an http or https address on the public internet, without user name, password, backslashes and line ends'
  return new GatewayError('tool_input_invalid', { message: `${param} must be ${what}.`, param })
}

/**
 * DNS over its own sockets: the system's resolver takes threads that the rest of the process waits for.
 * @param servers asked in place of the system's
 */
export function lookUpFor(timeoutMs: number, servers?: readonly string[]): LookupAll {
  return async (hostname) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries: 1 })
    if (servers !== undefined) resolver.setServers(servers)
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const found = (result: typeof four, family: number) =>
      result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []
    return [...found(four, 4), ...found(six, 6)]
  }
}
