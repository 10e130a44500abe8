import { BlockList, isIP } from 'node:net'
import { isLoopbackHost, portOf, withoutBrackets } from './ipAddress.ts'

/** A forward proxy, through which servers are reached by CONNECT. */
export interface ForwardProxy {
  readonly host: string
  readonly port: number
  /** The connection to the proxy itself is encrypted. */
  readonly tls: boolean
  /** The user and the password with a colon between them; '' for none. */
  readonly login: string
}

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i

/** Reads the address of a proxy; one without a scheme is of http. @returns undefined for what is no such address */
export function forwardProxy(text: string): ForwardProxy | undefined {
  const address = SCHEME.test(text) ? text : `http://${text}`
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  const { protocol, hostname, username, password } = url
  if ((protocol !== 'http:' && protocol !== 'https:') || hostname === '') return undefined
  const tls = protocol === 'https:'
  const login = username === '' ? '' : `${decoded(username)}:${decoded(password)}`
  return { host: withoutBrackets(hostname), port: portOf(url), tls, login }
}

/**
 * The proxies that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name. The lower-case name of each goes before the upper-case one. This
 * machine itself is never reached through a proxy.
 */
export class EnvironmentProxies {
  private readonly proxies: Readonly<Record<string, ForwardProxy | undefined>>
  private readonly exceptions: readonly ((host: string, port: string) => boolean)[]

  constructor(environment: NodeJS.ProcessEnv) {
    const variable = (name: string): string =>
      (environment[name.toLowerCase()] || environment[name.toUpperCase()] || '').trim()
    const named = (name: string): ForwardProxy | undefined => forwardProxy(variable(name))
    this.proxies = { 'http:': named('HTTP_PROXY'), 'https:': named('HTTPS_PROXY') }
    this.exceptions = variable('NO_PROXY')
      .split(/[\s,]+/)
      .filter((entry) => entry !== '')
      .map(exceptionOf)
  }

  /** The proxy on the way to an address; undefined where the way is direct. */
  to(url: URL): ForwardProxy | undefined {
    const proxy = this.proxies[url.protocol]
    if (proxy === undefined) return undefined
    const host = withoutBrackets(url.hostname).replace(/\.$/, '')
    if (isLoopbackHost(host)) return undefined
    const port = String(portOf(url))
    return this.exceptions.some((excepts) => excepts(host, port)) ? undefined : proxy
  }
}

/** An entry of NO_PROXY: `*`, a name with the names below it, an address, or a network; names and addresses may have a port. */
function exceptionOf(entry: string): (host: string, port: string) => boolean {
  if (entry === '*') return () => true
  const network = networkOf(entry)
  if (network !== undefined) return (host) => network(host)
  const [, bare = entry, wantedPort] = /^(\[[^\]]*\]|[^:]*):([0-9]{1,5})$/.exec(entry) ?? []
  const name = withoutBrackets(bare)
    .replace(/^\*?\./, '')
    .replace(/\.$/, '')
    .toLowerCase()
  return (host, port) =>
    (host === name || (isIP(host) === 0 && host.endsWith(`.${name}`))) && (wantedPort ?? port) === port
}

function networkOf(entry: string): ((host: string) => boolean) | undefined {
  const [, address = '', bits = ''] = /^([0-9a-f:.]+)\/([0-9]{1,3})$/i.exec(entry) ?? []
  const family = isIP(address)
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return undefined
  const list = new BlockList()
  list.addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
  return (host) => isIP(host) === family && list.check(host, family === 4 ? 'ipv4' : 'ipv6')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
