import type { EventEmitter } from 'node:events'
import { Cluster, type ClusterOptions, type Command, type RedisOptions, Redis as SingleRedis } from 'ioredis'
import { isIpAddress } from '../net/ipAddress.ts'
import { joinWrites } from './joinWrites.ts'
import { LastingRedis } from './lastingRedis.ts'
import { type ClusterPlace, parseRedisUrl, type SentinelPlace, type ServerPlace } from './redisUrl.ts'

type Commands = Pick<SingleRedis, keyof SingleRedis & keyof Cluster>
type OfOneServer = 'pipeline' | 'multi' | 'scan' | 'duplicate' | 'status'

/**
 * A connection to Redis of any kind. Joint writes to keys of several shards, and scans over all keys, are in
 * redisShards.ts, because a cluster takes neither as one command.
 */
export type Redis = Omit<Commands, keyof EventEmitter | OfOneServer> &
  Pick<EventEmitter, 'on' | 'once' | 'off'> & { readonly status: string }

/**
 * Whether calls wait until a lost connection is restored, or fail: immediately, and after this timeout when they get no answer.
 */
export type LostConnection = 'wait' | { readonly failAfterMs: number }

const RECONNECT_DELAY_MAX_MS = 1_000
const CONNECT_TIMEOUT_MS = 2_000
/** A server that owes an answer for so long is hung, and its connection is given up. No read blocks for as long. */
const SILENCE_MAX_MS = 15_000
/** In a cluster, the wait before a command that did not run is sent again, and how often that is done. */
const CLUSTER_RETRY_MS = 100
const CLUSTER_MOVED_MS = 20
const CLUSTER_RETRIES_MAX = 160
const REDIRECTIONS_MAX = 40
/** The interval at which the owners of the slots are read; slots moved in between are found by redirects. */
const SLOTS_REFRESH_MS = 2_000

const reconnectDelayMs = (attempt: number): number => Math.min(attempt * 50, RECONNECT_DELAY_MAX_MS)

/**
 * Connects to Redis. The connection restores itself; commands that were under way when it broke are rejected and never
 * retried, because a script may have run. Commands that a server redirects are sent to the other server.
 * @param url as `parseRedisUrl` reads it: one server, the master that Sentinel names, or a cluster
 * @param lost whether commands wait or fail while there is no connection; when they fail, they also have a timeout, and a
 *   connection on which one times out is closed
 * @throws Error when the address is not usable
 */
export function connectRedis(url: string, lost: LostConnection): Redis {
  const place = parseRedisUrl(url)
  if (place.kind === 'cluster') return connectCluster(place, lost)
  const options = {
    ...bounds(lost),
    enableOfflineQueue: lost === 'wait',
    maxRetriesPerRequest: lost === 'wait' ? null : 0,
    retryStrategy: reconnectDelayMs,
    // A command that a demoted master refuses was not run; its network address may lead to the new master.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  const redis = place.kind === 'sentinel' ? connectSentinel(place, options) : connectServer(place, options)
  rejectLost(redis)
  joinWrites(redis)
  if (lost !== 'wait') dropWhenLate(redis, lost, (connection) => connection?.destroy(LATE))
  return redis
}

/** The cluster of a connection; undefined when there is one server at a time. */
export function clusterOf(redis: object): Cluster | undefined {
  return redis instanceof Cluster ? redis : undefined
}

function bounds(lost: LostConnection): RedisOptions {
  return {
    // In the newer protocol, raw calls answer stream reads in another shape.
    protocol: 2,
    autoResendUnfulfilledCommands: false,
    noDelay: true,
    ...(lost === 'wait' ? { socketTimeout: SILENCE_MAX_MS } : {}),
  }
}

function connectServer({ url, host, tls }: ServerPlace, options: RedisOptions): SingleRedis {
  const address = url.startsWith('unix://') ? url.slice('unix://'.length) : url
  return new LastingRedis(address, { ...options, ...tlsOf(tls, host) })
}

function connectSentinel(place: SentinelPlace, options: RedisOptions): SingleRedis {
  const { sentinels, master, database, username, password, sentinelUsername, sentinelPassword, tls } = place
  return new LastingRedis(undefined, {
    ...options,
    sentinels: [...sentinels],
    name: master,
    db: database,
    // A master that was replaced may keep serving the clients that stay connected to it.
    failoverDetector: true,
    sentinelRetryStrategy: reconnectDelayMs,
    sentinelReconnectStrategy: reconnectDelayMs,
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  })
}

function connectCluster({ nodes, username, password, tls }: ClusterPlace, lost: LostConnection): Cluster {
  const options: ClusterOptions = {
    clusterRetryStrategy: reconnectDelayMs,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    // Names stay names, because certificates are for names.
    dnsLookup: (address, callback) => callback(null, address),
    // A node that is not connected yet takes commands; how long they wait there is bounded as that for an answer is.
    enableOfflineQueue: true,
    retryDelayOnMoved: CLUSTER_MOVED_MS,
    retryDelayOnFailover: lost === 'wait' ? CLUSTER_RETRY_MS : 0,
    retryDelayOnClusterDown: lost === 'wait' ? CLUSTER_RETRY_MS : 0,
    retryDelayOnTryAgain: CLUSTER_RETRY_MS,
    maxRedirections: lost === 'wait' ? CLUSTER_RETRIES_MAX : REDIRECTIONS_MAX,
    redisOptions: {
      ...bounds(lost),
      connectTimeout: CONNECT_TIMEOUT_MS,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...tlsOf(tls, ''),
    },
  }
  const cluster = new Cluster([...nodes], options)
  cluster.on('+node', (node: SingleRedis) => {
    if (tls) Object.assign(node.options, tlsOf(true, node.options.host ?? ''))
    guardNode(node, lost)
  })
  if (lost !== 'wait') failWhileDown(cluster)
  return cluster
}

function tlsOf(tls: boolean, host: string): RedisOptions {
  if (!tls) return {}
  return { tls: host === '' || isIpAddress(host) ? {} : { servername: host } }
}

const LATE = new Error('Redis did not answer in time; its connection is dropped')

type Flush = (error: Error, queues: { offlineQueue: boolean }) => void

/**
 * ioredis forgets commands that it neither resends nor retries, so that their promises would never settle; a cluster retries
 * commands that fail because a connection is closed, which is only safe for commands that were never sent.
 */
function rejectLost(redis: SingleRedis): void {
  const flushQueue = Reflect.get(redis, 'flushQueue') as Flush
  const reject = (): void =>
    flushQueue.call(redis, new Error('the connection to Redis was lost'), { offlineQueue: false })
  redis.on('connect', () => redis.stream.prependOnceListener('close', reject))
}

/** Keeps the promises of `connectRedis` on the connection to one node, which the cluster makes and removes. */
function guardNode(node: SingleRedis, lost: LostConnection): void {
  rejectLost(node)
  joinWrites(node)
  const send = node.sendCommand
  node.sendCommand = (command, stream) => {
    // A command that was given up in a queue stays there.
    if (command.isSettled) return command.promise
    if (command.name.startsWith('eval')) waitWhileMoving(command)
    return send.call(node, command, stream)
  }
  if (lost === 'wait') return
  let isDropped = false
  dropWhenLate(node, lost, () => {
    if (!isDropped) node.disconnect()
    isDropped = true
  })
}

const waiting = new WeakSet<Command>()

/**
 * A script runs on the node that owns its slot alone, never on one that is being given it, which may lack keys that the
 * script does not name before it runs. Until the slot has moved, its calls are sent again after a while.
 */
function waitWhileMoving(command: Command): void {
  if (waiting.has(command)) return
  waiting.add(command)
  const reject = command.reject
  command.reject = (error) => {
    const isMoving = error.message.startsWith('ASK ') || /non local key/.test(error.message)
    reject.call(command, isMoving ? new Error('TRYAGAIN the slot is moving to another node') : error)
  }
}

/** While no node is known, ioredis would keep commands without a bound in time. */
function failWhileDown(cluster: Cluster): void {
  const send = cluster.sendCommand
  cluster.sendCommand = (command, stream, node) => {
    if (cluster.status !== 'ready' && command.name !== 'cluster') {
      command.reject(new Error('there is no connection to the Redis Cluster'))
      return command.promise
    }
    return send.call(cluster, command, stream, node)
  }
}

/** Until when commands have time, by the clock of performance.now(), and the connection that they were last sent on. */
const sent = new WeakMap<Command, { readonly untilMs: number; readonly by: SingleRedis }>()

/**
 * Rejects commands that time out. A command without an answer stays in the buffer of its connection, and so does every later
 * one; when Redis hangs, that buffer has no bound. Closing the connection frees it and marks Redis as unreachable.
 * @param drop closes the connection that is passed to it; undefined before the first one
 */
function dropWhenLate(
  redis: SingleRedis,
  { failAfterMs }: Exclude<LostConnection, 'wait'>,
  drop: (connection: SingleRedis['stream'] | undefined) => void,
): void {
  const send = redis.sendCommand
  redis.sendCommand = (command, stream) => {
    const connection: SingleRedis['stream'] | undefined = redis.stream
    const untilMs = sent.get(command)?.untilMs ?? performance.now() + failAfterMs
    sent.set(command, { untilMs, by: redis })
    const late = (): void => {
      if (command.isSettled || sent.get(command)?.by !== redis) return
      command.reject(LATE)
      drop(connection?.destroyed === true ? undefined : connection)
    }
    // Runs after the socket is read: a process that was blocked must not time out an answer that has already arrived.
    const timer = setTimeout(() => setImmediate(late), Math.max(0, untilMs - performance.now()))
    const clear = (): void => clearTimeout(timer)
    command.promise.then(clear, clear)
    return send.call(redis, command, stream)
  }
}
