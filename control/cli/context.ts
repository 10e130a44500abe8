import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readVariables, type Variables } from '../../contract/schemas/environment.ts'
import { AttemptIds } from '../../contract/wire/attemptIds.ts'
import { busKeysOf } from '../../contract/wire/busKeys.ts'
import { connectRedis, type Redis } from '../../contract/wire/redis.ts'
import { NoteKey } from '../book/checkpoint/noteKey.ts'
import { CatalogKey } from '../catalog/signing/catalogKey.ts'
import { knownBusKey } from '../launch/busKey.ts'
import { knownCatalogKey } from '../launch/catalogKey.ts'
import { knownLogKey } from '../launch/logKey.ts'
import type { Limits } from '../limits.ts'
import { beforeDeadline } from '../runtime/beforeDeadline.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { addressForLog } from '../service/environment.ts'
import { shownText } from './shownText.ts'

/** A command that cannot do its work; the message says how to fix it. Exit status 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

interface Addresses {
  readonly databaseUrl: string | undefined
  readonly redisUrl: string | undefined
  /** As named, else of the control that `make run` runs. */
  readonly catalogPath: string | undefined
  readonly archiveDir: string
  readonly chainRpcUrl: string | undefined
  readonly deployerKey: string | undefined
  readonly busKey: string | undefined
  readonly logKey: string | undefined
  readonly catalogKey: string | undefined
  readonly nextCatalogKey: string | undefined
  /** The folder of `make run`, when the key that signs the catalog is the one in it. */
  readonly catalogKeyDir: string | undefined
  readonly allowPrivateProviders: boolean
  readonly apiKey: string | undefined
}

/** Addresses from the environment, else those that the running `make run` keeps in `.sluice/run.json`. */
function readAddresses(variables: Variables): Addresses {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, CHAIN_RPC_URL: chainRpcUrl } = variables
  const { SLUICE_CATALOG: namedCatalog, SLUICE_PRIVATE_PROVIDERS: allowPrivateProviders } = variables
  const ownFolder = databaseUrl === undefined ? variables.SLUICE_DATA : undefined
  const folderKey = ownFolder === undefined ? undefined : knownCatalogKey(ownFolder)
  let run: { database_url?: string; redis_url?: string; catalog?: string; chain_rpc_url?: string } = {}
  try {
    run = JSON.parse(readFileSync(join(variables.SLUICE_DATA, 'run.json'), 'utf8'))
  } catch {
    // There is no running `make run` here; the environment may still have the addresses.
  }
  return {
    databaseUrl: databaseUrl ?? run.database_url,
    redisUrl: redisUrl ?? run.redis_url,
    // A book that is named is not the one of the run, so neither is its catalog.
    catalogPath: namedCatalog ?? (databaseUrl === undefined ? run.catalog : undefined),
    chainRpcUrl: chainRpcUrl ?? (databaseUrl === undefined ? run.chain_rpc_url : undefined),
    deployerKey: variables.SLUICE_DEPLOYER_KEY,
    archiveDir: variables.SLUICE_ARCHIVE,
    // A book that is named is not the one of the run, so neither are its keys.
    busKey: variables.SLUICE_BUS_KEY || (databaseUrl === undefined ? knownBusKey(variables.SLUICE_DATA) : undefined),
    logKey: variables.SLUICE_LOG_KEY || (databaseUrl === undefined ? knownLogKey(variables.SLUICE_DATA) : undefined),
    catalogKey: variables.SLUICE_CATALOG_KEY || folderKey,
    nextCatalogKey: variables.SLUICE_CATALOG_NEXT_KEY,
    catalogKeyDir: variables.SLUICE_CATALOG_KEY || folderKey === undefined ? undefined : ownFolder,
    allowPrivateProviders: allowPrivateProviders === '1',
    apiKey: variables.SLUICE_KEY,
  }
}

/** @throws CommandError that names the invalid variable */
function variablesOf(env: NodeJS.ProcessEnv): Variables {
  try {
    return readVariables(env, 'command line')
  } catch (error) {
    throw new CommandError(reason(error))
  }
}

/** Opens the pool of one command, which ends it. */
export type OpenDatabase = (url: string, limits: Limits) => Pool

/** The context of commands: connections that open on first use, and the output. */
export class CliContext {
  readonly limits: Limits
  readonly isJson: boolean
  private readonly env: NodeJS.ProcessEnv
  private readonly addresses: Addresses
  private openedPool: Promise<Pool> | undefined
  private openedRedis: Promise<Redis> | undefined
  private readonly openDatabase: OpenDatabase

  /** @param openDatabase a process that runs many commands may keep connections between them */
  constructor(env: NodeJS.ProcessEnv, limits: Limits, isJson: boolean, openDatabase: OpenDatabase) {
    this.openDatabase = openDatabase
    this.limits = limits
    this.env = env
    this.isJson = isJson
    this.addresses = readAddresses(variablesOf(env))
  }

  /**
   * The catalog file: as given (relative to the operator's working directory), else SLUICE_CATALOG, else that of the running
   * `make run`, else catalog.yaml.
   */
  catalogPath(given: string | undefined): string {
    if (given !== undefined) return this.pathOf(given)
    return resolve(this.addresses.catalogPath ?? 'catalog.yaml')
  }

  /** The folder of the archives of receipts: SLUICE_ARCHIVE, relative to the operator's working directory. */
  get archiveDir(): string {
    return this.pathOf(this.addresses.archiveDir)
  }

  /** A path that is relative to the operator's working directory: npm changes to the project's folder and notes where it was called. */
  pathOf(given: string): string {
    return resolve(this.env['INIT_CWD'] ?? '.', given)
  }

  /** A node of the chain that the book is bound to, when one is known. */
  get chainRpcUrl(): string | undefined {
    return this.addresses.chainRpcUrl
  }

  /** The private key of a wallet that deploys contracts. */
  get deployerKey(): string | undefined {
    return this.addresses.deployerKey
  }

  /** Reads the ids under which providers know requests. @throws CommandError where the key is not known */
  get attemptIds(): AttemptIds {
    const { busKey } = this.addresses
    if (busKey === undefined)
      throw new CommandError('SLUICE_BUS_KEY is not set: set it as proxies and controls have it')
    return new AttemptIds(busKeysOf(busKey))
  }

  /** The key that signs the logs, when it is known. @throws CommandError when it is invalid */
  get logKey(): NoteKey | undefined {
    const { logKey } = this.addresses
    try {
      return logKey === undefined ? undefined : NoteKey.of(logKey)
    } catch (error) {
      throw new CommandError(`SLUICE_LOG_KEY does not hold: ${reason(error)}`)
    }
  }

  /** The key that signs the catalog, when it is known. @throws CommandError when it is invalid */
  get catalogKey(): CatalogKey | undefined {
    return catalogKeyOf('SLUICE_CATALOG_KEY', this.addresses.catalogKey)
  }

  /** The key that is to sign the catalog from now on, when it is known. @throws CommandError when it is invalid */
  get nextCatalogKey(): CatalogKey | undefined {
    return catalogKeyOf('SLUICE_CATALOG_NEXT_KEY', this.addresses.nextCatalogKey)
  }

  /** The folder of `make run`, when the key that signs the catalog is the one in it. */
  get catalogKeyDir(): string | undefined {
    return this.addresses.catalogKeyDir
  }

  /** Whether endpoints of customers may have private addresses, as control allows it. */
  get allowPrivateProviders(): boolean {
    return this.addresses.allowPrivateProviders
  }

  /** The API key by which a command is a client of a gateway: SLUICE_KEY, or the content of SLUICE_KEY_FILE. */
  get apiKey(): string | undefined {
    return this.addresses.apiKey
  }

  /** The book. @throws CommandError when it cannot be reached */
  pool(): Promise<Pool> {
    this.openedPool ??= this.openPool()
    return this.openedPool
  }

  /** Redis. @throws CommandError when it cannot be reached */
  redis(): Promise<Redis> {
    this.openedRedis ??= this.openRedis()
    return this.openedRedis
  }

  /** The database of the book, which may be empty. @throws CommandError when its address is not known */
  bareDatabase(): Pool {
    const url = this.addresses.databaseUrl
    if (url !== undefined) return this.openDatabase(url, this.limits)
    throw new CommandError('the database is not known: is `make run` running? Else set DATABASE_URL')
  }

  private async openPool(): Promise<Pool> {
    const pool = this.bareDatabase()
    try {
      await pool.query('SELECT 1 FROM api_keys, price_sheets LIMIT 0')
      return pool
    } catch (error) {
      await pool.end()
      const address = addressForLog(this.addresses.databaseUrl ?? '')
      if ((error as { code?: string }).code === '42P01') {
        throw new CommandError(`the database at ${address} has no tables yet: start control once (make run)`)
      }
      const advice = this.addressAdvice('DATABASE_URL')
      throw new CommandError(`the database at ${address} is not reachable: ${advice} (${reason(error)})`)
    }
  }

  private async openRedis(): Promise<Redis> {
    const url = this.addresses.redisUrl
    if (url === undefined) throw new CommandError('Redis is not known: is `make run` running? Else set REDIS_URL')
    const redis = connectRedis(url, 'wait')
    let lastError: unknown
    redis.on('error', (error) => {
      lastError = error
    })
    try {
      await beforeDeadline(redis.ping(), this.limits.redisTimeoutMs, () => {
        throw lastError ?? new Error('no answer')
      })
      return redis
    } catch (error) {
      redis.disconnect()
      const advice = this.addressAdvice('REDIS_URL')
      throw new CommandError(`Redis at ${addressForLog(url)} is not reachable: ${advice} (${reason(error)})`)
    }
  }

  /** The advice when a server does not answer, by the place that named its address. */
  private addressAdvice(variable: 'DATABASE_URL' | 'REDIS_URL'): string {
    return this.env[variable] ? `does ${variable} name the right one, and does it run?` : 'is `make run` running?'
  }

  /** Prints the result: `json` for programs, `text` for people. */
  print(json: unknown, text: string): void {
    process.stdout.write(`${shownText(this.isJson ? JSON.stringify(json) : text.replace(/\n$/, ''))}\n`)
  }

  /** Writes a piece of a long output, as fast as it is taken. */
  async write(text: string): Promise<void> {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain')
  }

  /** Says something in addition to the result; programs that read the output are not disturbed. */
  warn(text: string): void {
    process.stderr.write(`${shownText(text)}\n`)
  }

  async close(): Promise<void> {
    const [pool, redis] = await Promise.allSettled([this.openedPool, this.openedRedis])
    if (redis.status === 'fulfilled') redis.value?.disconnect()
    if (pool.status === 'fulfilled') await pool.value?.end()
  }
}

function catalogKeyOf(variable: string, secret: string | undefined): CatalogKey | undefined {
  try {
    return secret === undefined ? undefined : CatalogKey.of(secret)
  } catch (error) {
    throw new CommandError(`${variable} does not hold: ${reason(error)}`)
  }
}

function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ')
  return error instanceof Error ? error.message : String(error)
}
