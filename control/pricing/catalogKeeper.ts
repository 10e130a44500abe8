import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { publishCatalogRecord } from '../bus/feed.ts'
import { limits } from '../contract/limits.ts'
import { CATALOG_KEY } from '../contract/redisKeys.ts'
import type { Pool } from '../db/pool.ts'
import { readCatalogFile } from './catalogFile.ts'
import { type Published, publishCatalog } from './publish.ts'
import { syncCatalog } from './syncCatalog.ts'
import { CatalogError } from './yamlReader.ts'

/** What the keeper works with. */
export interface CatalogKeeperParts {
  readonly path: string
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
}

/**
 * Keeps the catalog in force: publishes the file, and puts the record of the book back into Redis whenever Redis shows
 * another one (after a loss, or when another process published).
 */
export class CatalogKeeper {
  readonly #parts: CatalogKeeperParts
  #timer: NodeJS.Timeout | undefined
  #syncing: Promise<void> | undefined

  constructor(parts: CatalogKeeperParts) {
    this.#parts = parts
  }

  /**
   * Reads the file and publishes it where it differs from what is in force.
   * @throws CatalogError when the file does not hold or breaks a price promise; then nothing changed
   */
  async load(): Promise<Published> {
    const { path, pool, redis, log } = this.#parts
    const published = await publishCatalog(pool, await readCatalogFile(path))
    const inRedis = await redis.getBuffer(CATALOG_KEY)
    if (inRedis?.equals(published.record) !== true) {
      await publishCatalogRecord(redis, published.version, published.record)
    }
    const { version, isNewSheet, isNewRecord } = published
    log.info({ version, newSheet: isNewSheet, changed: isNewRecord }, 'the catalog is in force')
    return published
  }

  /** `load` for a running process: a catalog that does not hold is logged, and the one in force stays. */
  async reload(): Promise<boolean> {
    try {
      await this.load()
      return true
    } catch (error) {
      const problems = error instanceof CatalogError ? error.problems : [(error as Error).message]
      this.#parts.log.error({ problems }, 'the changed catalog is refused; the one in force stays')
      return false
    }
  }

  /** Starts watching Redis. */
  start(): void {
    this.#parts.redis.on('ready', this.#check)
    this.#timer = setInterval(this.#check, limits.catalogCheckMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#parts.redis.off('ready', this.#check)
    await this.#syncing
  }

  readonly #check = (): void => {
    if (this.#parts.redis.status !== 'ready') return
    this.#syncing ??= this.restore()
      .catch((error: Error) => this.#parts.log.warn({ reason: error.message }, 'the catalog in Redis is not checked'))
      .finally(() => {
        this.#syncing = undefined
      })
  }

  /** Puts the record of the book into Redis where Redis shows another one or none. */
  async restore(): Promise<void> {
    const { pool, redis, log } = this.#parts
    const version = await syncCatalog(pool, redis)
    if (version !== undefined) log.warn({ version }, 'Redis did not hold the catalog in force; it was put back')
  }
}
