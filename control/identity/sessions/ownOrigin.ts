const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1'])

/**
 * Whether a message is for this gateway. A message that another site had a wallet sign must not sign in here, so only the
 * operator's configuration counts, never the host that a request names.
 * @param publicUrl where clients reach the gateway; undefined accepts the loopback names, with any port
 * @param domain the domain of an EIP-4361 message: host and perhaps port
 * @param uri the URI of the message
 */
export function isOwnOrigin(publicUrl: URL | undefined, domain: string, uri: string): boolean {
  const target = parsed(uri)
  if (target === undefined || (target.protocol !== 'http:' && target.protocol !== 'https:')) return false
  const site = parsed(`${target.protocol}//${domain}`)
  if (site === undefined || site.host !== target.host) return false
  return publicUrl === undefined ? LOOPBACK_NAMES.has(target.hostname) : target.origin === publicUrl.origin
}

function parsed(url: string): URL | undefined {
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}
