import { DIALECT, isDialect } from '../../contract/catalog/dialects.ts'
import { headersByName, readOwnParts } from '../../contract/providers/ownParts.ts'
import { firstSecret } from '../../contract/providers/providerKeys.ts'
import { freshReads, type Reach, reachOf } from '../../contract/providers/reach.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { currentRecord } from '../catalog/pricing/sheetStore.ts'
import type { Queryable } from '../runtime/db/pool.ts'

/** A provider as batch jobs reach it. */
export interface BatchProvider {
  readonly id: string
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Its own headers by name, and its own query without the question mark. */
  readonly headers: Readonly<Record<string, string>>
  readonly query: string
  /** How it is reached; absent is directly. */
  readonly reach?: Reach
  /** It takes many jobs in one batch; the others are called for each. */
  readonly batch: boolean
  /** Its output is what the total of a report has beside the prompt. */
  readonly outputFromTotal: boolean
}

/** The providers that can be asked now, by id. */
export type Providers = ReadonlyMap<string, BatchProvider>

/**
 * The providers of the catalog in force whose dialect has batches and whose keys this process has.
 * @param environment where the keys are
 */
export async function readProviders(db: Queryable, environment: NodeJS.ProcessEnv): Promise<Providers> {
  const encoded = await currentRecord(db)
  const providers = new Map<string, BatchProvider>()
  if (encoded === undefined) return providers
  const reads = freshReads(environment)
  for (const bare of sluice.CatalogRecord.decode(encoded).providers) {
    const record = sluice.ProviderRecord.create(bare)
    const { id, baseUrl, dialect, batch, outputFromTotal } = record
    if (!isDialect(dialect) || !DIALECT[dialect].batches) continue
    // A provider shows a batch to the key that made it alone, so that all of them go by the first key.
    const apiKey = firstSecret(record, environment)
    const own = readOwnParts(record, environment)
    const { reach, isClosed } = reachOf(record, reads)
    if (apiKey === undefined || own === undefined || isClosed) continue
    const address = { baseUrl: baseUrl.replace(/\/+$/, ''), headers: headersByName(own.headers), query: own.query }
    providers.set(id, { id, ...address, ...(reach && { reach }), apiKey, batch, outputFromTotal })
  }
  return providers
}
