import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isUnspecifiedAddress } from '../../contract/net/ipAddress.ts'
import { readVariables } from '../../contract/schemas/environment.ts'

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

/**
 * Reads the environment, including the variables that the programs read themselves: an invalid one would otherwise only show
 * when the other programs run. Changes nothing: what it reads may belong to another run.
 * @throws Error naming the invalid variable
 */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const variables = readVariables(env, 'make run')
  const catalogPath = variables.SLUICE_CATALOG === undefined ? undefined : resolve(variables.SLUICE_CATALOG)
  if (catalogPath !== undefined && !existsSync(catalogPath)) {
    throw new Error(`SLUICE_CATALOG names a file that is not there: ${catalogPath}`)
  }
  const dataDir = resolve(variables.SLUICE_DATA)
  return {
    host: variables.HOST,
    port: variables.PORT,
    dataDir,
    logDir: join(dataDir, 'logs'),
    catalogPath,
    defaultCatalogPath: resolve('catalog.yaml'),
    databaseUrl: variables.DATABASE_URL,
    redisUrl: variables.REDIS_URL,
  }
}

/** The host part of an address that reaches a server listening on `host` from this machine. */
export function reachableHost(host: string): string {
  if (isUnspecifiedAddress(host)) return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
