import { createHash } from 'node:crypto'
import type { SecureContext } from 'node:tls'
import { EnvironmentProxies, type ForwardProxy, forwardProxy } from '../net/environmentProxies.ts'
import { sluice } from '../wire/generated/messages.js'
import { type KeySource, readPem, readSecret, type Secret } from './providerKeys.ts'
import { TlsContexts, type TlsFiles } from './tlsContexts.ts'

/** The `url` of a proxy for a provider that is reached directly. */
export const NO_PROXY = 'none'

/** How a server is reached that is not reached directly, or not with the usual certificates. */
export interface Reach {
  /** Servers of one name are reached alike: they share connections and sessions of TLS. Another one once a file has changed. */
  readonly name: string
  /** The proxy on the way; absent for none. */
  readonly proxy?: ForwardProxy
  /** The certificates of both sides; absent for the usual ones. */
  readonly context?: SecureContext
}

/** The way to a provider as a record or the file of the catalog has it. */
export interface StatedReach extends Partial<TlsFiles> {
  readonly baseUrl?: string | null
  /** Its address or NO_PROXY, and where its user and password are; absent leaves it to the environment. */
  readonly proxy?: sluice.ForwardProxyRecord.$Properties | null
}

/** The sources of a way. */
export interface ReachReads {
  readonly secret: (source: KeySource) => Secret
  readonly pem: (file: string) => Secret
  readonly proxies: EnvironmentProxies
  readonly contexts: TlsContexts
}

export interface ReachReading {
  /** Absent where the server is reached directly with the usual certificates. */
  readonly reach?: Reach
  /** Parts of it that cannot be read. */
  readonly unread: readonly { readonly part: KeySource & { readonly name: string }; readonly fault: string }[]
  /** There is no way until that can be read. */
  readonly isClosed: boolean
}

/** Reads everything anew, by the environment of this process. */
export function freshReads(environment: NodeJS.ProcessEnv): ReachReads {
  return {
    secret: (source) => readSecret(source, environment),
    pem: readPem,
    proxies: new EnvironmentProxies(environment),
    contexts: new TlsContexts(),
  }
}

/** The way to a provider. */
export function reachOf({ baseUrl, proxy: stated, ...files }: StatedReach, reads: ReachReads): ReachReading {
  const { caFile = '', certFile = '', keyFile = '' } = files
  const unread: ReachReading['unread'][number][] = []
  const proxy = stated ? ownProxy(stated, reads, unread) : reads.proxies.to(new URL(baseUrl ?? ''))
  const isLocked = unread.length > 0
  const usual = caFile === '' && certFile === ''
  const { tls, unread: file } = usual ? {} : reads.contexts.of({ caFile, certFile, keyFile }, reads.pem)
  if (file !== undefined) {
    const name = file.file === caFile ? 'ca_file' : file.file === certFile ? 'cert_file' : 'key_file'
    unread.push({ part: { name, env: '', file: file.file }, fault: file.fault })
  }
  const reach = isLocked ? undefined : named(proxy, tls)
  return { ...(reach && { reach }), unread, isClosed: isLocked || (!usual && tls === undefined) }
}

/** The way to an address that a provider names: as to the provider where it is the provider's own server. */
export function reachOfAddress(url: URL, provider: StatedReach, reads: ReachReads): ReachReading {
  const isOwn = typeof provider.baseUrl === 'string' && new URL(provider.baseUrl).origin === url.origin
  return isOwn ? reachOf(provider, reads) : reachOf({ baseUrl: url.href }, reads)
}

function ownProxy(
  bare: sluice.ForwardProxyRecord.$Properties,
  reads: ReachReads,
  unread: ReachReading['unread'][number][],
): ForwardProxy | undefined {
  const { url, env, file } = sluice.ForwardProxyRecord.create(bare)
  const proxy = url === NO_PROXY ? undefined : forwardProxy(url)
  if (proxy === undefined || (env === '' && file === '')) return proxy
  const { text, fault } = reads.secret({ env, file })
  if (text === '') unread.push({ part: { name: 'proxy', env, file }, fault })
  return { ...proxy, login: text }
}

function named(proxy: ForwardProxy | undefined, tls: ReturnType<TlsContexts['of']>['tls']): Reach | undefined {
  if (proxy === undefined && tls === undefined) return undefined
  const parts = [proxy?.host, proxy?.port, proxy?.tls, proxy?.login, tls?.digest]
  const name = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return { name, ...(proxy && { proxy }), ...(tls && { context: tls.context }) }
}
