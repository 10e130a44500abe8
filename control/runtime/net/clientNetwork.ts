import { isIP } from 'node:net'

/**
 * The network by which clients are told apart: an IPv4 address, or the /64 of an IPv6 address, because that is what one
 * client is given (RFC 6177).
 * @returns '' for what is no IP address
 */
export function clientNetwork(address: string): string {
  const text = address.replace(/%.*$/, '')
  const family = isIP(text)
  if (family !== 6) return family === 4 ? text : ''
  // The URL parser writes an address in its canonical form, RFC 5952.
  const canonical = new URL(`http://[${text}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const groups = head === '' ? [] : head.split(':')
  const behind = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? [] : Array<string>(8 - groups.length - behind.length).fill('0')
  const all = [...groups, ...gap, ...behind]
  if (all.slice(0, 6).join(':') === '0:0:0:0:0:ffff') return mappedIpv4(all[6], all[7])
  return `${all.slice(0, 4).join(':')}::/64`
}

function mappedIpv4(high = '0', low = '0'): string {
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [a >> 8, a & 255, b >> 8, b & 255].join('.')
}
