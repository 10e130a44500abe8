import { join } from 'node:path'
import { TRANSPORTS, type TransportName } from './upstream/newTransport.ts'

/** The settings of the proxy, from the environment. */
export interface ProxyConfig {
  readonly host: string
  readonly port: number
  readonly workers: number
  readonly metricsPort: number
  readonly redisUrl: string
  /** Redis Cluster: every call stays in one shard. */
  readonly redisCluster: boolean
  /** How providers are reached. */
  readonly transport: TransportName
  readonly journalFolder: string
  /** How many load balancers in front of the gateway add to X-Forwarded-For; zero trusts none of it. */
  readonly trustedProxies: number
  readonly logLevel: string
  /** Requests run unpaid, to measure what the money path costs. */
  readonly unmetered: boolean
}

/**
 * Reads the proxy's settings.
 * @throws Error naming the variable that is not usable
 */
export function readConfig(environment: NodeJS.ProcessEnv): ProxyConfig {
  const redisUrl = environment['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
  return {
    host: environment['HOST'] ?? '127.0.0.1',
    port: integer(environment, 'PORT', 8080, 0, 65_535),
    workers: integer(environment, 'SLUICE_WORKERS', 1, 1, 256),
    metricsPort: integer(environment, 'SLUICE_METRICS_PORT', 0, 0, 65_535),
    redisUrl,
    redisCluster: environment['SLUICE_REDIS_CLUSTER'] === '1',
    transport: transportName(environment['SLUICE_TRANSPORT'] ?? 'sockets'),
    journalFolder: join(environment['SLUICE_DATA'] ?? '.sluice', 'journal'),
    trustedProxies: integer(environment, 'SLUICE_TRUSTED_PROXIES', 0, 0, 16),
    logLevel: environment['LOG_LEVEL'] ?? 'info',
    unmetered: isUnmetered(environment),
  }
}

/** For the benchmark alone; see bench/. */
function isUnmetered(environment: NodeJS.ProcessEnv): boolean {
  const text = environment['SLUICE_BENCH_UNMETERED'] ?? ''
  if (text === '') return false
  if (text !== '1') throw new Error(`SLUICE_BENCH_UNMETERED must be 1 or unset, not "${text}"`)
  if (environment['NODE_ENV'] === 'production') {
    throw new Error('SLUICE_BENCH_UNMETERED lets requests run unpaid and is refused with NODE_ENV=production; unset it')
  }
  return true
}

function transportName(text: string): TransportName {
  const found = TRANSPORTS.find((name) => name === text)
  if (found === undefined) throw new Error(`SLUICE_TRANSPORT must be one of ${TRANSPORTS.join(', ')}, not "${text}"`)
  return found
}

function integer(environment: NodeJS.ProcessEnv, name: string, fallback: number, min: number, max: number): number {
  const text = environment[name]
  if (text === undefined || text === '') return fallback
  const value = Number(text)
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new Error(`${name} must be an integer from ${min} to ${max}, not "${text}"`)
  }
  return value
}
