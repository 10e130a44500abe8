import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { GatewayError } from '../../../control/contract/errors.ts'
import { HostError, isPublicAddress, type LookupAll, resolveHost } from '../../../control/contract/net/publicAddress.ts'

/** Names that no public DNS has: RFC 6761, RFC 6762, RFC 8375, and what networks use inside. */
const INNER_NAME = /^[^.]+$|(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|private|home\.arpa|onion)$/

/**
 * Whether a URL leads to the public internet, as far as the URL itself says it: http or https without credentials, to a
 * public address or to a name that may have one.
 */
export function mayBePublic(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if ((protocol !== 'http:' && protocol !== 'https:') || username !== '' || password !== '') return false
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  if (isIP(host) !== 0) return isPublicAddress(host)
  return !INNER_NAME.test(host.replace(/\.$/, ''))
}

/**
 * Refuses addresses that are not on the public internet, before a tool's upstream is sent there: those that say so
 * themselves, and names with any address that is private, loopback, link-local or otherwise special. A name that has no
 * address here is left to the upstream, which connects to it and not the gateway.
 * @param param the member of the input
 * @throws GatewayError tool_input_invalid
 */
export async function checkPublicUrl(value: unknown, param: string, timeoutMs: number): Promise<void> {
  if (typeof value !== 'string' || !mayBePublic(value)) throw notPublic(param)
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    await resolveHost(new URL(value).hostname, { allowPrivate: false, signal, lookup: lookUpFor(timeoutMs) })
  } catch (error) {
    if (!(error instanceof HostError)) throw error
    if (error.fault === 'not_public') throw notPublic(param)
  }
}

function notPublic(param: string): GatewayError {
  const message = `${param} must be an http or https address on the public internet, without user name or password.`
  return new GatewayError('tool_input_invalid', { message, param })
}

/** DNS over sockets of its own: the system's resolver takes threads that the rest of the process waits for. */
function lookUpFor(timeoutMs: number): LookupAll {
  return async (hostname) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries: 1 })
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const found = (result: typeof four, family: number) =>
      result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []
    return [...found(four, 4), ...found(six, 6)]
  }
}
