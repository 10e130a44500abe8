import { isIpAddress, isPublicAddress, withoutBrackets } from './ipAddress.ts'

/**
 * Ends of the names that public DNS never has: RFC 2606, RFC 6761, RFC 6762, RFC 8375, and common names of internal
 * networks, clusters and home routers. The resolver of a page reader may know them even where the gateway's does not.
 */
const INNER_ENDS: ReadonlySet<string> = new Set(
  (
    'localhost local localdomain internal intranet intra lan home corp private home.arpa onion test invalid example svc ' +
    'consul fritz.box'
  ).split(' '),
)
/** Ports of the web below those that any user may open; '' is the one of the protocol. */
const WEB_PORTS: ReadonlySet<string> = new Set(['', '80', '443'])
const ANY_USER_PORT_MIN = 1_024
/**
 * Ports above them on which databases, queues and the parts of clusters listen: some take the head of a request for commands.
 */
const SERVICE_PORTS: ReadonlySet<number> = new Set([
  1_433, 1_521, 2_049, 2_181, 2_375, 2_376, 2_377, 2_379, 2_380, 3_306, 3_389, 4_001, 4_646, 5_432, 5_672, 5_900, 5_984,
  6_000, 6_379, 6_443, 6_667, 7_000, 7_001, 7_199, 8_086, 8_125, 8_200, 8_300, 8_301, 8_500, 8_600, 9_042, 9_092, 9_160,
  9_200, 9_300, 10_248, 10_250, 10_255, 10_256, 11_211, 15_672, 16_379, 26_379, 27_017, 27_018, 28_017, 50_070,
])
/**
 * Characters that the parser of the URL standard drops or turns into a slash while other parsers keep them, so that those
 * would find another host in the same text.
 */
const AMBIGUOUS = /[\p{Cc}\\]/u

/**
 * Parses a web address. Forward `href` of the result, never the text, because parsers differ.
 * @returns undefined unless it is http or https, without user and password, backslashes and control characters
 */
export function parseWebUrl(text: string): URL | undefined {
  if (AMBIGUOUS.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:'
  return isWeb && url.username === '' && url.password === '' ? url : undefined
}

/**
 * Whether an address belongs to the public web by its text alone: a public address, or a name that public DNS may
 * have, and a port on which the web is served. Names are not resolved.
 */
export function mayBePublicHost({ hostname, port }: Pick<URL, 'hostname' | 'port'>): boolean {
  if (!mayBeWebPort(port)) return false
  const host = withoutBrackets(hostname)
  if (isIpAddress(host)) return isPublicAddress(host)
  const labels = host.replace(/\.$/, '').split('.')
  const ends = [labels.slice(-1), labels.slice(-2)].map((last) => last.join('.'))
  return labels.length > 1 && !ends.some((end) => INNER_ENDS.has(end))
}

function mayBeWebPort(port: string): boolean {
  return WEB_PORTS.has(port) || (Number(port) >= ANY_USER_PORT_MIN && !SERVICE_PORTS.has(Number(port)))
}
