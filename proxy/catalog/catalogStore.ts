import { CallSeal, KEPT_CHANNEL } from '../../contract/wire/callSeal.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { CATALOG_KEY, SERVING_KEY } from '../../contract/wire/redisKeys.ts'
import { KeptRecord } from '../bus/keptRecord.ts'
import { type Canary, decodeServing } from './canary.ts'
import { type Catalog, decodeCatalog, type Model, withCanaries } from './catalog.ts'
import type { KeySecrets } from './keySecrets.ts'
import type { Tool } from './tool.ts'

export interface CatalogStoreOptions {
  readonly redis: Pick<Redis, 'getBuffer'>
  /** SLUICE_BUS_KEY, which the keys of registered providers are sealed with. */
  readonly busKeys: readonly Buffer[]
  /** The keys of the catalog's providers and tools. */
  readonly secrets: KeySecrets
  /** Called with every catalog that differs from the previous one. */
  readonly onChange: (catalog: Catalog) => void
  /** Called with the catalog in force after keys of its providers have changed. */
  readonly onKeysChanged: (catalog: Catalog) => void
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
  private bytes: Buffer | undefined
  private readonly options: Pick<CatalogStoreOptions, 'secrets' | 'onKeysChanged'>
  private canaries: ReadonlyMap<string, readonly Canary[]> = new Map()
  private catalog: Catalog | undefined

  constructor({ redis, busKeys, secrets, onChange, onKeysChanged, onFault }: CatalogStoreOptions) {
    this.options = { secrets, onKeysChanged }
    const decode = (bytes: Buffer): void => {
      onChange(this.decode(bytes))
      this.bytes = bytes
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

  /** Reads neither any more. */
  stop(): void {
    this.record.stop()
    this.serving.stop()
  }

  /** Puts changed keys of providers in use: the catalog in force is decoded once more. */
  renewKeys(): void {
    if (this.bytes !== undefined) this.options.onKeysChanged(this.decode(this.bytes))
  }

  private decode(bytes: Buffer): Catalog {
    const { secrets } = this.options
    const { reads, forgetOthers } = secrets.reading()
    this.published = decodeCatalog(bytes, secrets.environment, reads)
    forgetOthers()
    return this.join(this.published)
  }

  private join(published: Catalog): Catalog {
    this.catalog = withCanaries(published, this.canaries)
    return this.catalog
  }
}
