import { DIALECT, isDialect } from '../../contract/catalog/dialects.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { currentRecord } from '../catalog/pricing/sheetStore.ts'
import type { Queryable } from '../runtime/db/pool.ts'

/** A provider as batch jobs reach it. */
export interface BatchProvider {
  readonly id: string
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly apiKey: string
  /** It takes many jobs in one batch; the others are called for each. */
  readonly batch: boolean
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
  for (const record of sluice.CatalogRecord.decode(encoded).providers) {
    const { id, baseUrl, dialect, apiKeyEnv, batch } = sluice.ProviderRecord.create(record)
    const apiKey = apiKeyEnv === '' ? '' : (environment[apiKeyEnv] ?? '').trim()
    if (!isDialect(dialect) || !DIALECT[dialect].batches || (apiKeyEnv !== '' && apiKey === '')) continue
    providers.set(id, { id, baseUrl: baseUrl.replace(/\/+$/, ''), apiKey, batch })
  }
  return providers
}
