import { BlockList, isIP } from 'node:net'

const HTTP_PORT = 80
const HTTPS_PORT = 443

/**
 * IPv4 networks that are not the public internet: the registry of special-purpose addresses as a whole, because even its
 * globally reachable entries are anycast services that a network may run internally; also multicast and reserved networks.
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
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
])

/**
 * All IPv6 addresses that are allocated for the internet. Mapped, compatible, translated and NAT64 forms of IPv4 addresses
 * are outside. https://www.iana.org/assignments/ipv6-address-space
 */
const GLOBAL_IPV6 = blockListOf('ipv6', [['2000::', 3]])

/**
 * Global unicast networks that are not the public internet or that embed an IPv4 address: protocol assignments with Teredo,
 * documentation, 6to4, AS112. https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const SPECIAL_IPV6 = blockListOf('ipv6', [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
])

// BlockList takes an IPv4 address and its mapped form for the same, so addresses of each family have their own lists.
const LOOPBACK_IPV4 = blockListOf('ipv4', [['127.0.0.0', 8]])
const LOOPBACK_IPV6 = blockListOf('ipv6', [['::1', 128]])
const UNSPECIFIED = blockListOf('ipv4', [['0.0.0.0', 32]])
UNSPECIFIED.addAddress('::', 'ipv6')
const MAPPED_IPV4 = blockListOf('ipv6', [['::ffff:0:0', 96]])

function blockListOf(family: 'ipv4' | 'ipv6', networks: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList()
  for (const [address, prefix] of networks) list.addSubnet(address, prefix, family)
  return list
}

function isIn(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/** Whether a text is an IPv4 address of four decimal numbers, or an IPv6 address without brackets. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0
}

/**
 * Whether an address belongs to the public internet: not private, loopback, link-local, multicast or reserved, and no IPv6
 * address that leads to an IPv4 one.
 * @param address as text; a text that is not an IP address is not public
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !isIn(SPECIAL_IPV4, address)
  return isIn(GLOBAL_IPV6, address) && !isIn(SPECIAL_IPV6, address)
}

/**
 * Whether a host is a name that this machine has for itself: localhost, 127.0.0.0/8 or ::1.
 * @param host a name or an IP address, an IPv6 address with or without brackets
 */
export function isLoopbackHost(host: string): boolean {
  const address = withoutBrackets(host)
  const family = isIP(address)
  if (family === 0) return host.toLowerCase() === 'localhost'
  return isIn(family === 4 ? LOOPBACK_IPV4 : LOOPBACK_IPV6, address)
}

/** Whether an address is 0.0.0.0 or ::, on which a server listens to be reached by every address of its machine. */
export function isUnspecifiedAddress(address: string): boolean {
  return isIn(UNSPECIFIED, address)
}

/**
 * The host of a URL without the brackets of an IPv6 address, as sockets take it.
 * @param hostname as in `URL.hostname`, which writes every form of an IPv4 address in its usual one
 */
export function withoutBrackets(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

/** The port of an address of http or https, which its URL leaves out where it is the usual one. */
export function portOf({ protocol, port }: Pick<URL, 'protocol' | 'port'>): number {
  return Number(port || (protocol === 'https:' ? HTTPS_PORT : HTTP_PORT))
}

/**
 * The network that identifies a client: an IPv4 address, or the /64 of an IPv6 address, because one client usually gets a
 * whole /64 (RFC 6177).
 * @returns '' when the text is not an IP address
 */
export function clientNetwork(address: string): string {
  const text = address.replace(/%.*$/, '')
  const family = isIP(text)
  if (family !== 6) return family === 4 ? text : ''
  const groups = groupsOf(text)
  if (!isIn(MAPPED_IPV4, text)) return `${groups.slice(0, 4).join(':')}::/64`
  const bytes = groups.slice(6).flatMap((group) => {
    const word = Number.parseInt(group, 16)
    return [word >> 8, word & 255]
  })
  return bytes.join('.')
}

/** The eight groups of an IPv6 address, in hexadecimal without leading zeros. */
function groupsOf(address: string): string[] {
  // The URL parser writes an address in its canonical form, RFC 5952.
  const canonical = withoutBrackets(new URL(`http://[${address}]`).hostname)
  const [front = [], back = []] = canonical.split('::').map((part) => (part === '' ? [] : part.split(':')))
  return front.concat(Array<string>(8 - front.length - back.length).fill('0'), back)
}
