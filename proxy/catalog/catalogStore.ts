import type { Redis } from '../../contract/wire/redis.ts'
import { CATALOG_KEY } from '../../contract/wire/redisKeys.ts'
import { KeptRecord } from '../bus/keptRecord.ts'
import { type Catalog, decodeCatalog, type Model } from './catalog.ts'
import type { Tool } from './tool.ts'

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
  private readonly record: KeptRecord
  private catalog: Catalog | undefined

  constructor({ redis, environment, onChange, onFault }: CatalogStoreOptions) {
    const decode = (bytes: Buffer): void => {
      this.catalog = decodeCatalog(bytes, environment)
      onChange(this.catalog)
    }
    this.record = new KeptRecord({ redis, key: CATALOG_KEY, onChange: decode, onFault })
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
  refresh(): Promise<boolean> {
    return this.record.refresh()
  }

  /** Reads the catalog in the background, again and again until that succeeds once after this call. */
  renew(): void {
    this.record.renew()
  }
}
