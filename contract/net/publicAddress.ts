import { type LookupAddress, type LookupAllOptions, promises } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** More addresses than this of one name are none that a connection would try. */
const ADDRESSES_MAX = 32

/**
 * IPv4 networks that are not the public internet: those of the registry of special-purpose addresses that are not
 * globally reachable, the relays of 6to4, multicast, and what is reserved.
 * https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const SPECIAL_IPV4 = blockListOf('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
])

/** All IPv6 addresses that are given out for the internet; https://www.iana.org/assignments/ipv6-address-space */
const GLOBAL_IPV6 = blockListOf('ipv6', [['2000::', 3]])

/**
 * Those among them that are not the public internet, or stand for an IPv4 address: protocol assignments with Teredo,
 * documentation, 6to4. https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const SPECIAL_IPV6 = blockListOf('ipv6', [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
])

function blockListOf(family: 'ipv4' | 'ipv6', networks: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList()
  for (const [address, prefix] of networks) list.addSubnet(address, prefix, family)
  return list
}

/**
 * Whether an address belongs to the public internet: not private, loopback, link-local, multicast or reserved, and no
 * IPv6 address that leads to an IPv4 one.
 * @param address as text; what is no IP address is not public
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !SPECIAL_IPV4.check(address, 'ipv4')
  return family === 6 && GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6')
}

/** Why a host is not connected to. */
export type HostFault = 'not_found' | 'not_public' | 'timeout'

export class HostError extends Error {
  override name = 'HostError'
  readonly fault: HostFault

  constructor(fault: HostFault, hostname: string) {
    super(`${hostname}: ${fault}`)
    this.fault = fault
  }
}

/** As `dns.promises.lookup`. */
export type LookupAll = (hostname: string, options: LookupAllOptions) => Promise<LookupAddress[]>

export interface ResolveOptions {
  /** Lets private and other special addresses pass. */
  readonly allowPrivate: boolean
  /** Ends the waiting. */
  readonly signal: AbortSignal
  /** The system's resolver when absent. */
  readonly lookup?: LookupAll
}

/**
 * Resolves the host of a URL once and checks every address that it has, so that a name with a public and a private
 * address is refused. Connect through `pinnedLookup` to what is returned: a second resolution could answer otherwise.
 * @param hostname as in `URL.hostname`, which writes every form of an IPv4 address in its usual one
 * @throws HostError
 */
export async function resolveHost(hostname: string, options: ResolveOptions): Promise<readonly LookupAddress[]> {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const family = isIP(host)
  const found = family === 0 ? await lookUp(host, options) : [{ address: host, family }]
  if (found.length === 0 || found.length > ADDRESSES_MAX) throw new HostError('not_found', host)
  const isAllowed = options.allowPrivate || found.every(({ address }) => isPublicAddress(address))
  if (!isAllowed) throw new HostError('not_public', host)
  return found
}

async function lookUp(host: string, { signal, lookup = promises.lookup }: ResolveOptions): Promise<LookupAddress[]> {
  if (signal.aborted) throw new HostError('timeout', host)
  let onAbort = (): void => {}
  // The system's resolver can not be told to stop, only be left alone.
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new HostError('timeout', host))
    signal.addEventListener('abort', onAbort, { once: true })
  })
  const found = lookup(host, { all: true }).catch(() => {
    throw new HostError('not_found', host)
  })
  try {
    return await Promise.race([found, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/**
 * The `lookup` option of net.connect, tls.connect and node:http that always answers these addresses, whatever it is
 * asked, so that a connection goes where the check was made.
 */
export function pinnedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (hostname, options, callback) => {
    const wanted = options.family === 4 || options.family === 6 ? options.family : 0
    const fitting = addresses.filter(({ family }) => wanted === 0 || family === wanted)
    const [first] = fitting
    if (first === undefined) callback(new HostError('not_found', hostname), '')
    else if (options.all) callback(null, fitting)
    else callback(null, first.address, first.family)
  }
}
