import type { Logger } from 'pino'
import { lockTextUntilCommit } from '../../runtime/db/locks.ts'
import { type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { CatalogLimits } from '../limits.ts'
import { type CatalogPriceList, readCatalogFile } from '../pricing/catalogFile.ts'
import { currentRecord } from '../pricing/sheetStore.ts'
import { type Comparison, compare, type SoldModels, soldModels } from './compare.ts'
import { bookReading, endOtherLists, forgetObservations } from './observationStore.ts'
import { listName, readList, shownUrl } from './readList.ts'

export interface PriceObserverParts {
  /** The catalog file, which names the lists. */
  readonly path: string
  readonly pool: Pool
  readonly log: Logger
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly limits: CatalogLimits
}

/** Reads providers' price lists, stores their prices, and warns of prices above those that are sold. */
export class PriceObserver {
  /** Since the process began. */
  readonly stats = { reads: 0, failures: 0 }
  private readonly parts: PriceObserverParts
  private loop: Loop | undefined

  constructor(parts: PriceObserverParts) {
    this.parts = parts
  }

  /** Begins to read, at an interval of limits.observeMs. */
  start(): void {
    const { log, limits } = this.parts
    this.loop = new Loop('price lists', limits.observeMs, log, (signal) => this.observe(signal))
  }

  async stop(): Promise<void> {
    await this.loop?.stop()
  }

  /** Reads every list once. One that cannot be read is logged, and its earlier observations stay in force. */
  async observe(signal?: AbortSignal): Promise<void> {
    const { path, pool, limits } = this.parts
    const { priceLists } = await readCatalogFile(path)
    const encoded = await currentRecord(pool)
    if (encoded === undefined) return
    const sold = soldModels(encoded)
    for (const list of priceLists) {
      if (signal?.aborted) return
      await this.observeList(list, sold)
    }
    await endOtherLists(
      pool,
      priceLists.map((list) => ({ provider: list.provider, list: listName(list) })),
    )
    await forgetObservations(pool, limits)
  }

  private async observeList(list: CatalogPriceList, sold: SoldModels): Promise<void> {
    const { path, pool, log, now = Date.now, limits } = this.parts
    const { provider } = list
    const name = listName(list)
    this.stats.reads++
    try {
      const { models, sha256 } = await readList(list, path, limits)
      const comparisons = models.flatMap((model) => compare(provider, model, sold))
      const reading = { provider, list: name, url: shownUrl(list), sha256, at: new Date(now()), comparisons }
      const changed = await withTransaction(pool, async (client) => {
        // Controls side by side read the same lists.
        await lockTextUntilCommit(client, 'priceLists', `price list ${provider} ${name}`)
        return bookReading(client, reading)
      })
      for (const comparison of changed) if (comparison.above.length > 0) this.warn(provider, comparison)
    } catch (error) {
      this.stats.failures++
      logEvent(log, 'price_list_unreadable', { provider, list: name, reason: (error as Error).message })
    }
  }

  private warn(provider: string, { upstreamModel, model, price, sold, above }: Comparison): void {
    logEvent(this.parts.log, 'price_above_sold', { provider, upstreamModel, model, price, sold, above })
  }
}
