import type { Logger } from 'pino'
import type { Redis } from '../../../contract/wire/redis.ts'
import { CATALOG_KEY } from '../../../contract/wire/redisKeys.ts'
import { publishCatalogRecord } from '../../runtime/bus/feed.ts'
import { type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { FileError } from '../../runtime/files/yamlFile.ts'
import { logEvent, logRepeat } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { CatalogLimits } from '../limits.ts'
import { type Catalog, readCatalogFile } from './catalogFile.ts'
import { chooseAtStart } from './catalogFiles.ts'
import { publishLockSeries } from './lockSeriesRecords.ts'
import { PromiseError, type Published, publishCatalog } from './publish.ts'
import { renewPromise } from './renewPromise.ts'
import type { SignCatalog, Signing } from './signing.ts'
import { syncCatalog } from './syncCatalog.ts'
import { unattestedModels } from './unattested.ts'

/** Models that a warning names. */
const MODELS_TOLD_MAX = 20

/** The dependencies of the keeper. */
export interface CatalogKeeperParts {
  readonly path: string
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Undefined where nothing is signed. */
  readonly sign?: SignCatalog | undefined
  readonly limits: CatalogLimits
}

/**
 * Keeps the catalog in force: publishes the file, renews the promise of its prices, signs it, and puts the record of the book back
 * into Redis whenever Redis shows another one (after a loss, or when another process published).
 */
export class CatalogKeeper {
  private readonly parts: CatalogKeeperParts
  private readonly now: () => number
  private timer: NodeJS.Timeout | undefined
  private renewing: Loop | undefined
  private syncing: Promise<void> | undefined
  /** The other signer that was last logged, so that it is not logged at every check. */
  private otherSigner = ''

  constructor(parts: CatalogKeeperParts) {
    this.parts = parts
    this.now = parts.now ?? Date.now
  }

  /**
   * `load` for a process that starts. A catalog that a command has published since stays in force while the file is as it was;
   * when the file breaks a price promise, the sheet in force stays, because prices published since from another file are no
   * reason to stay down.
   * @throws FileError when the file is invalid
   */
  async start(): Promise<void> {
    const { path, redis, log } = this.parts
    try {
      await this.loadAtStart()
    } catch (error) {
      if (!(error instanceof PromiseError)) throw error
      await this.restore()
      const problems = error.problems
      logEvent(log, 'catalog_price_promise_broken', { catalog: path, problems })
    }
    await this.renew()
    redis.on('ready', this.check)
    this.timer = setInterval(this.check, this.parts.limits.catalogCheckMs)
    this.renewing = new Loop('price promise', this.parts.limits.housekeepingMs, log, () => this.renew())
  }

  private async loadAtStart(): Promise<void> {
    const { path, pool, log } = this.parts
    const catalog = await readCatalogFile(path)
    const choice = await chooseAtStart(pool, catalog.source.digest)
    if (choice === 'keep') {
      logEvent(log, 'catalog_file_unchanged', { catalog: path })
      return this.restore()
    }
    await this.publish(catalog)
    if (choice === 'replace') logEvent(log, 'catalog_published_replaced', { catalog: path })
  }

  /**
   * Reads the file and publishes it if it differs from the catalog in force.
   * @throws FileError when the file is invalid; PromiseError when it breaks a price promise; then nothing changed
   */
  async load(): Promise<Published> {
    return this.publish(await readCatalogFile(this.parts.path))
  }

  private async publish(catalog: Catalog): Promise<Published> {
    const { pool, redis, log, sign, limits } = this.parts
    const unattested = unattestedModels(catalog)
    if (unattested.length > 0) {
      const models = unattested.slice(0, MODELS_TOLD_MAX)
      logEvent(log, 'private_tier_disabled', { models })
    }
    const published = await publishCatalog(pool, catalog, limits, this.now(), { sign, isConfigured: true })
    this.tell(published.signing)
    const inRedis = await redis.getBuffer(CATALOG_KEY)
    if (inRedis?.equals(published.record) !== true) {
      await publishCatalogRecord(redis, published.version, published.record, limits)
    }
    const { version, isNewSheet, isNewRecord } = published
    logEvent(log, 'catalog_in_force', { version, newSheet: isNewSheet, changed: isNewRecord })
    return published
  }

  /** `load` for a running process: an invalid catalog is logged, and the current one stays in force. */
  async reload(): Promise<boolean> {
    try {
      await this.load()
      return true
    } catch (error) {
      const problems = error instanceof FileError ? error.problems : [(error as Error).message]
      logEvent(this.parts.log, 'catalog_rejected', { problems })
      return false
    }
  }

  /**
   * Renews the promise of the sheet in force when that is due, and notifies every proxy; signs catalogs that were published
   * without a key, and catalogs whose validity ends soon.
   */
  async renew(): Promise<void> {
    await this.renewPromise()
    const { pool, sign } = this.parts
    if (sign !== undefined) this.tell(await withTransaction(pool, (client) => sign(client, this.now())))
  }

  private async renewPromise(): Promise<void> {
    const { pool, redis, log } = this.parts
    const renewed = await renewPromise(pool, this.now())
    if (renewed === undefined) return
    const { version, validUntilMs, record } = renewed
    logEvent(log, 'catalog_promise_renewed', { version, until: new Date(validUntilMs).toISOString() })
    await publishCatalogRecord(redis, version, record, this.parts.limits)
  }

  /** Notifies the proxies of the series of compute locks that were issued or have ended. */
  private async publishLocks(): Promise<void> {
    const { pool, redis, log, limits } = this.parts
    const changed = await publishLockSeries(pool, this.now())
    if (changed === undefined) return
    logEvent(log, 'compute_lock_series_changed', { version: changed.version, series: changed.series })
    await publishCatalogRecord(redis, changed.version, changed.record, limits)
  }

  private tell(signing: Signing | undefined): void {
    const { log } = this.parts
    if (signing?.state === 'signed') logEvent(log, 'catalog_signed', { version: signing.version })
    const other = signing?.state === 'other_signer' ? signing : undefined
    if (other !== undefined && other.signer !== this.otherSigner) {
      logEvent(log, 'catalog_signer_mismatch', { signer: other.signer, key: other.key })
    }
    this.otherSigner = other?.signer ?? ''
  }

  async stop(): Promise<void> {
    await this.renewing?.stop()
    clearInterval(this.timer)
    this.parts.redis.off('ready', this.check)
    await this.syncing
  }

  private readonly check = (): void => {
    if (this.parts.redis.status !== 'ready') return
    this.syncing ??= this.restore()
      .catch((error: Error) => logRepeat(this.parts.log, 'catalog_check_failed', { reason: error.message }))
      .finally(() => {
        this.syncing = undefined
      })
  }

  /** Puts the record of the book into Redis where Redis shows another one or none. */
  async restore(): Promise<void> {
    const { pool, redis, log } = this.parts
    await this.publishLocks()
    const version = await syncCatalog(pool, redis, this.parts.limits)
    if (version !== undefined) logEvent(log, 'catalog_restored', { version })
  }
}
