import type { Queryable } from '../../../runtime/db/pool.ts'

/** How many registered providers are admitted for a model, by how they serve. */
export interface ProviderSample {
  readonly probation: number
  readonly serving: number
  readonly suspended: number
}

export const NO_PROVIDERS: ProviderSample = { probation: 0, serving: 0, suspended: 0 }

/** Counts the admissions that are not removed. */
export async function sampleProviders(db: Queryable): Promise<ProviderSample> {
  const found = await db.query<ProviderSample>(
    `SELECT count(*) FILTER (WHERE state = 'probation') AS probation, count(*) FILTER (WHERE state = 'serving') AS serving,
       count(*) FILTER (WHERE state = 'suspended') AS suspended
     FROM provider_admissions WHERE state <> 'removed'`,
  )
  return found.rows[0] ?? NO_PROVIDERS
}
