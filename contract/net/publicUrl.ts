import { isIpAddress, isPublicAddress, withoutBrackets } from './ipAddress.ts'

/** Names that public DNS never has: RFC 6761, RFC 6762, RFC 8375, and common names of internal networks. */
const INNER_NAME = /^[^.]+$|(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|private|home\.arpa|onion)$/
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
 * Whether a host belongs to the public internet by its text alone: a public address, or a name that public DNS may
 * have. Names are not resolved.
 */
export function mayBePublicHost({ hostname }: Pick<URL, 'hostname'>): boolean {
  const host = withoutBrackets(hostname)
  if (isIpAddress(host)) return isPublicAddress(host)
  return !INNER_NAME.test(host.replace(/\.$/, ''))
}
