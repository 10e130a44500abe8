import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readVariables } from '../contract/schemas/environment.ts'
import { busKeysOf } from '../contract/wire/busKeys.ts'
import { type TraceSettings, traceSettingsOf } from './traces/settings.ts'
import type { TransportName } from './upstream/newTransport.ts'

/** Enough that no two folders of a machine have the same name. */
const NAME_DIGITS = 16
const REDIS_URL = 'redis://127.0.0.1:6379'

/** The settings of the proxy, from the environment. */
export interface ProxyConfig {
  readonly host: string
  readonly port: number
  readonly workers: number
  readonly metricsHost: string
  readonly metricsPort: number
  /** The bearer token of scrapes; empty for none. */
  readonly metricsToken: string
  readonly redisUrl: string
  /** Shared with control: encrypts the calls between them. */
  readonly busKeys: readonly Buffer[]
  /** How providers are reached. */
  readonly transport: TransportName
  readonly journalFolder: string
  /** For the part of the journal that is not on disk yet; null when there is no file system in memory. */
  readonly journalMemoryFolder: string | null
  /** Requests wait until their journal records are on the device. */
  readonly journalSync: boolean
  /** The address under which clients reach the gateway, without a trailing slash; empty when it is not configured. */
  readonly publicUrl: string
  /** How many load balancers in front of the gateway add to X-Forwarded-For; zero trusts none of it. */
  readonly trustedProxies: number
  readonly logLevel: string
  /** The file of the access log, `-` for standard output; empty for none. */
  readonly accessLog: string
  /** It has the addresses of clients. */
  readonly accessLogAddresses: boolean
  /** Undefined where no traces are exported. */
  readonly traces: TraceSettings | undefined
  /** Requests run unpaid, to measure the cost of the money path. */
  readonly unmetered: boolean
}

/**
 * Reads the proxy's settings.
 * @throws Error naming the variable that is not usable
 */
export function readConfig(environment: NodeJS.ProcessEnv): ProxyConfig {
  if (environment['SLUICE_BENCH_UNMETERED'] && environment['NODE_ENV'] === 'production') {
    throw new Error('SLUICE_BENCH_UNMETERED lets requests run unpaid and is refused with NODE_ENV=production; unset it')
  }
  const variables = readVariables(environment, 'proxy')
  return {
    host: variables.HOST,
    port: variables.PORT,
    workers: variables.SLUICE_WORKERS,
    metricsHost: variables.SLUICE_METRICS_HOST,
    metricsPort: variables.SLUICE_METRICS_PORT,
    metricsToken: variables.SLUICE_METRICS_TOKEN ?? '',
    redisUrl: variables.REDIS_URL ?? REDIS_URL,
    busKeys: busKeysOf(variables.SLUICE_BUS_KEY),
    transport: variables.SLUICE_TRANSPORT,
    journalFolder: join(variables.SLUICE_DATA, 'journal'),
    journalMemoryFolder: memoryFolder(variables.SLUICE_JOURNAL_MEMORY, variables.SLUICE_DATA),
    journalSync: variables.SLUICE_JOURNAL_SYNC === '1',
    publicUrl: (variables.SLUICE_PUBLIC_URL ?? '').replace(/\/+$/, ''),
    trustedProxies: variables.SLUICE_TRUSTED_PROXIES,
    logLevel: variables.LOG_LEVEL,
    accessLog: variables.SLUICE_ACCESS_LOG ?? '',
    accessLogAddresses: variables.SLUICE_ACCESS_LOG_ADDRESSES === '1',
    traces: traceSettingsOf(variables),
    unmetered: variables.SLUICE_BENCH_UNMETERED === '1',
  }
}

/** A folder of this installation alone: several may share the file system. */
function memoryFolder(root: string, dataFolder: string): string | null {
  if (root === 'off' || !existsSync(root)) return null
  return join(root, `sluice-${hash('sha256', resolve(dataFolder), 'hex').slice(0, NAME_DIGITS)}`)
}
