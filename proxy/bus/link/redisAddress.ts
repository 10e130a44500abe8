import { withoutBrackets } from '../../../contract/net/ipAddress.ts'

/** Where a Redis server is, and how to sign in there. */
export interface RedisAddress {
  readonly host: string
  readonly port: number
  /** Of a Unix domain socket, which is connected to instead of host and port; '' for none. */
  readonly path: string
  readonly tls: boolean
  /** '' for the default user. */
  readonly user: string
  /** '' for none. */
  readonly password: string
  readonly database: number
}

const PORT = 6_379

/**
 * Reads redis://user:password@host:port/database, rediss:// for TLS, or unix:///path of a socket on this machine.
 * @returns null for an address of another form, such as one with options
 */
export function parseRedisAddress(text: string): RedisAddress | null {
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  if (url.protocol === 'unix:') return socketAddress(url)
  const database = url.pathname === '' || url.pathname === '/' ? '0' : url.pathname.slice(1)
  if (!['redis:', 'rediss:'].includes(url.protocol) || !/^[0-9]{1,5}$/.test(database) || url.search !== '') return null
  return {
    host: withoutBrackets(url.hostname) || '127.0.0.1',
    port: url.port === '' ? PORT : Number(url.port),
    path: '',
    tls: url.protocol === 'rediss:',
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: Number(database),
  }
}

function socketAddress(url: URL): RedisAddress | null {
  const path = url.pathname
  if (url.host !== '' || path === '' || path.includes('%') || url.search !== '') return null
  return { host: '', port: 0, path, tls: false, user: '', password: '', database: 0 }
}
