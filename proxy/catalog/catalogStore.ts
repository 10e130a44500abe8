import { CallSeal, KEPT_CHANNEL } from '../../contract/wire/callSeal.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { CATALOG_KEY, SERVING_KEY } from '../../contract/wire/redisKeys.ts'
import { KeptRecord } from '../bus/keptRecord.ts'
import { type Canary, decodeServing } from './canary.ts'
import { type Catalog, decodeCatalog, type Model, withCanaries } from './catalog.ts'
import type { Tool } from './tool.ts'

export interface CatalogStoreOptions {
  readonly redis: Pick<Redis, 'getBuffer'>
  /** SLUICE_BUS_KEY, which the keys of registered providers are sealed with. */
  readonly busKeys: readonly Buffer[]
  /** The environment with the keys of the catalog's providers. */
  readonly environment: NodeJS.ProcessEnv
  /** Called with every catalog that differs from the previous one. */
  readonly onChange: (catalog: Catalog) => void
  readonly onFault: (error: unknown) => void
}

/**
 * The catalog in force with the registered providers that serve its models, read from Redis and read again whenever control
 * publishes.
 */
export class CatalogStore {
  private readonly record: KeptRecord
  private readonly serving: KeptRecord
  private published: Catalog | undefined
  private canaries: ReadonlyMap<string, readonly Canary[]> = new Map()
  private catalog: Catalog | undefined

  constructor({ redis, busKeys, environment, onChange, onFault }: CatalogStoreOptions) {
    const decode = (bytes: Buffer): void => {
      this.published = decodeCatalog(bytes, environment)
      onChange(this.join(this.published))
    }
    this.record = new KeptRecord({ redis, key: CATALOG_KEY, onChange: decode, onFault })
    const seal = new CallSeal(busKeys, KEPT_CHANNEL)
    const decodeCanaries = (bytes: Buffer): void => {
      this.canaries = decodeServing(bytes, seal)
      if (this.published !== undefined) this.join(this.published)
    }
    this.serving = new KeptRecord({ redis, key: SERVING_KEY, onChange: decodeCanaries, onFault })
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
   * Reads the catalog; the registered providers of its models follow in the background.
   * @returns whether there is one
   */
  refresh(): Promise<boolean> {
    this.serving.renew()
    return this.record.refresh()
  }

  /** Reads both in the background, with retries until one read succeeds after this call. */
  renew(): void {
    this.record.renew()
    this.serving.renew()
  }

  private join(published: Catalog): Catalog {
    this.catalog = withCanaries(published, this.canaries)
    return this.catalog
  }
}
