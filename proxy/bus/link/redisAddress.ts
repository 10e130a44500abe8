/** Where a Redis server is, and how to sign in there. */
export interface RedisAddress {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  /** '' for the default user. */
  readonly user: string
  /** '' for none. */
  readonly password: string
  readonly database: number
}

const PORT = 6_379

/**
 * Reads redis://user:password@host:port/database, or rediss:// for TLS.
 * @returns null for an address of another form, such as a socket's path or one with options
 */
export function parseRedisAddress(text: string): RedisAddress | null {
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  const database = url.pathname === '' || url.pathname === '/' ? '0' : url.pathname.slice(1)
  if (!['redis:', 'rediss:'].includes(url.protocol) || !/^[0-9]{1,5}$/.test(database) || url.search !== '') return null
  return {
    host: url.hostname.replace(/^\[|\]$/g, '') || '127.0.0.1',
    port: url.port === '' ? PORT : Number(url.port),
    tls: url.protocol === 'rediss:',
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: Number(database),
  }
}
