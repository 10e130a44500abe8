import { withoutBrackets } from '../net/ipAddress.ts'

export interface RedisHost {
  readonly host: string
  readonly port: number
}

interface Access {
  readonly username?: string
  readonly password?: string
  readonly tls: boolean
}

/** One server, by its port or by a socket on this machine. */
export interface ServerPlace {
  readonly kind: 'server'
  /** As ioredis reads it, with `redis:` for `rediss:`. */
  readonly url: string
  readonly host: string
  readonly tls: boolean
}

/** A master that Sentinel watches: the server that these processes name as the master now. */
export interface SentinelPlace extends Access {
  readonly kind: 'sentinel'
  readonly sentinels: readonly RedisHost[]
  readonly master: string
  readonly database: number
  readonly sentinelUsername?: string
  readonly sentinelPassword?: string
}

/** A Redis Cluster; any of its nodes reports the others. */
export interface ClusterPlace extends Access {
  readonly kind: 'cluster'
  readonly nodes: readonly RedisHost[]
}

export type RedisPlace = ServerPlace | SentinelPlace | ClusterPlace

const SERVER_PORT = 6_379
const SENTINEL_PORT = 26_379
const PARTS = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/
const HOST = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/
const DATABASE = /^\d{1,5}$/

/**
 * Parses the address of Redis: `redis://[user:password@]host[:port][/database]` or `unix:///path` for one server,
 * `redis+sentinel://[user:password@]host[:port],.../master[/database][?sentinel_user=...&sentinel_password=...]`,
 * `redis+cluster://[user:password@]host[:port],...`; `rediss` for `redis` is TLS on every connection.
 * @throws Error that says what the address must be, without repeating it
 */
export function parseRedisUrl(url: string): RedisPlace {
  if (/^unix:\/\/\//.test(url)) return { kind: 'server', url, host: '', tls: false }
  const parts = PARTS.exec(url)
  if (parts === null) throw notUsable('redis://, rediss://, redis+sentinel://, redis+cluster:// or unix:///path')
  const [, scheme, kind, userinfo, hosts = '', path = '', query = ''] = parts
  const access = { ...signIn(userinfo), tls: scheme === 'rediss' }
  if (kind === 'cluster') return { kind, nodes: readHosts(hosts, SERVER_PORT), ...noDatabase(path), ...access }
  if (kind === 'sentinel') return sentinelPlace(readHosts(hosts, SENTINEL_PORT), path, query, access)
  if (!URL.canParse(url)) throw notUsable('redis://host:port')
  return {
    kind: 'server',
    url: url.replace(/^rediss:/, 'redis:'),
    host: withoutBrackets(new URL(url).hostname),
    tls: access.tls,
  }
}

function sentinelPlace(sentinels: RedisHost[], path: string, query: string, access: Access): SentinelPlace {
  const [master = '', database = '0', ...rest] = path.split('/')
  if (master === '' || !DATABASE.test(database) || rest.length > 0) {
    throw notUsable('redis+sentinel://host:26379,host:26379/master/0 with the name of the master')
  }
  const options = new URLSearchParams(query)
  const [user, password] = [options.get('sentinel_user'), options.get('sentinel_password')]
  return {
    kind: 'sentinel',
    sentinels,
    master: decodeURIComponent(master),
    database: Number(database),
    ...access,
    ...(user === null ? {} : { sentinelUsername: user }),
    ...(password === null ? {} : { sentinelPassword: password }),
  }
}

function noDatabase(path: string): object {
  if (path !== '' && path !== '0')
    throw notUsable('redis+cluster://host:port,host:port; a cluster has database 0 alone')
  return {}
}

function signIn(userinfo: string | undefined): { username?: string; password?: string } {
  if (userinfo === undefined) return {}
  const colon = userinfo.indexOf(':')
  const user = decodeURIComponent(colon < 0 ? userinfo : userinfo.slice(0, colon))
  const password = colon < 0 ? '' : decodeURIComponent(userinfo.slice(colon + 1))
  return { ...(user === '' ? {} : { username: user }), ...(password === '' ? {} : { password }) }
}

function readHosts(text: string, defaultPort: number): RedisHost[] {
  return text.split(',').map((part) => {
    const [, host, port] = HOST.exec(part) ?? []
    if (host === undefined) throw notUsable('a list of hosts such as redis+cluster://host1:7000,host2:7000')
    return { host: withoutBrackets(host), port: port === undefined ? defaultPort : Number(port) }
  })
}

function notUsable(form: string): Error {
  return new Error(`the address of Redis (REDIS_URL) must be ${form}`)
}
