import type { Queryable } from '../../../runtime/db/pool.ts'
import { type GaugeGroup, gaugeGroup } from '../../../runtime/metrics/metricGroups.ts'

const NONE = { providers_probation: 0, providers_serving: 0, providers_suspended: 0 }

/** The admissions of registered providers that are not removed. */
export function providerGauges(db: Queryable): GaugeGroup {
  return gaugeGroup(
    {
      providers_probation: 'Registered providers on probation, by model',
      providers_serving: 'Registered providers in full service, by model',
      providers_suspended: 'Registered providers suspended, by model',
    },
    async () => {
      const found = await db.query<typeof NONE>(
        `SELECT count(*) FILTER (WHERE state = 'probation') AS providers_probation,
           count(*) FILTER (WHERE state = 'serving') AS providers_serving,
           count(*) FILTER (WHERE state = 'suspended') AS providers_suspended
         FROM provider_admissions WHERE state <> 'removed'`,
      )
      return found.rows[0] ?? NONE
    },
  )
}
