import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { CATALOG_KEY } from '../../control/contract/redisKeys.ts'
import { type Catalog, decodeCatalog, type Model } from './catalog.ts'
import type { Tool } from './tool.ts'

const RETRY_MS = 100
const RETRY_MAX_MS = 2_000

export interface CatalogStoreOptions {
  readonly redis: Pick<Redis, 'getBuffer'>
  /** Where the providers' keys are. */
  readonly environment: NodeJS.ProcessEnv
  /** Told of every catalog that differs from the one before. */
  readonly onChange: (catalog: Catalog) => void
  readonly onFault: (error: unknown) => void
}

/** The catalog in force, read from Redis and read again whenever control publishes. */
export class CatalogStore {
  private readonly options: CatalogStoreOptions
  private catalog: Catalog | undefined
  private bytes: Buffer | undefined
  private wanted = false
  private renewing = false

  constructor(options: CatalogStoreOptions) {
    this.options = options
  }

  /** Null until control has published for the first time. */
  get current(): Catalog | null {
    return this.catalog ?? null
  }

  /** A model by its public id. */
  model(id: string): Model | undefined {
    return this.catalog?.models.get(id)
  }

  /** A priced tool by its id. */
  tool(id: string): Tool | undefined {
    return this.catalog?.tools.get(id)
  }

  /**
   * Reads the catalog.
   * @returns whether there is one
   */
  async refresh(): Promise<boolean> {
    const bytes = await this.options.redis.getBuffer(CATALOG_KEY)
    if (bytes === null) return this.catalog !== undefined
    if (this.bytes !== undefined && bytes.equals(this.bytes)) return true
    this.catalog = decodeCatalog(bytes, this.options.environment)
    this.bytes = bytes
    this.options.onChange(this.catalog)
    return true
  }

  /** Reads the catalog in the background, again and again until that succeeds once after this call. */
  renew(): void {
    this.wanted = true
    if (!this.renewing) void this.renewUntilDone()
  }

  private async renewUntilDone(): Promise<void> {
    this.renewing = true
    let pauseMs = RETRY_MS
    while (this.wanted) {
      this.wanted = false
      try {
        await this.refresh()
        pauseMs = RETRY_MS
      } catch (error) {
        this.options.onFault(error)
        this.wanted = true
        await sleep(pauseMs, undefined, { ref: false })
        pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)
      }
    }
    this.renewing = false
  }
}
