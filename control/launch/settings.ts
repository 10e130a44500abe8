import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makePrivate } from './privateFolder.ts'

/** How `make run` was asked to run. */
export interface Settings {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  readonly logDir: string
  /** The catalog file that was named; undefined when none was. */
  readonly catalogPath: string | undefined
  /** The catalog file to look for when none was named. */
  readonly defaultCatalogPath: string
  readonly databaseUrl: string | undefined
  readonly redisUrl: string | undefined
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const PORT_MAX = 65_535
const WORKERS_MAX = 256

function checkInteger(env: NodeJS.ProcessEnv, name: string, min: number, max: number): void {
  const text = env[name]
  if (!text || (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max)) return
  throw new Error(`${name} must be a number from ${min} to ${max}, not "${text}"`)
}

function checkAddress(env: NodeJS.ProcessEnv, name: string, example: string, protocols: readonly string[]): void {
  const text = env[name]
  if (!text || (URL.canParse(text) && protocols.includes(new URL(text).protocol))) return
  // What was set may hold a password, so it is not repeated.
  throw new Error(`${name} must be an address such as ${example}`)
}

/** Settings that the parts read themselves; a wrong one would otherwise show only when the others run. */
function checkSettingsOfParts(env: NodeJS.ProcessEnv): void {
  checkInteger(env, 'PORT', 0, PORT_MAX)
  checkInteger(env, 'SLUICE_WORKERS', 1, WORKERS_MAX)
  checkInteger(env, 'SLUICE_METRICS_PORT', 0, PORT_MAX)
  checkInteger(env, 'SLUICE_CONTROL_METRICS_PORT', 0, PORT_MAX)
  const postgres = ['postgres:', 'postgresql:']
  checkAddress(env, 'DATABASE_URL', 'postgres://user:password@127.0.0.1:5432/sluice', postgres)
  checkAddress(env, 'REDIS_URL', 'redis://127.0.0.1:6379', ['redis:', 'rediss:', 'unix:'])
  const level = env['LOG_LEVEL']
  if (level && !LOG_LEVELS.includes(level)) {
    throw new Error(`LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}, not "${level}"`)
  }
}

/**
 * Reads the environment; unset and empty variables mean the defaults.
 * @throws Error naming the variable that is wrong
 */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  checkSettingsOfParts(env)
  const port = Number(env['PORT'] || 8080)
  const catalogPath = env['SLUICE_CATALOG'] ? resolve(env['SLUICE_CATALOG']) : undefined
  if (catalogPath !== undefined && !existsSync(catalogPath)) {
    throw new Error(`SLUICE_CATALOG names a file that is not there: ${catalogPath}`)
  }
  const dataDir = resolve(env['SLUICE_DATA'] || '.sluice')
  const logDir = join(dataDir, 'logs')
  makePrivate(dataDir)
  mkdirSync(logDir, { recursive: true })
  return {
    host: env['HOST'] || '127.0.0.1',
    port,
    dataDir,
    logDir,
    catalogPath,
    defaultCatalogPath: resolve('catalog.yaml'),
    databaseUrl: env['DATABASE_URL'] || undefined,
    redisUrl: env['REDIS_URL'] || undefined,
  }
}

/** The host part of an address that reaches a server listening on `host` from this machine. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
