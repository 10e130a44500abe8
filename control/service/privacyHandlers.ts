import type { ApiHandler } from '../api/call.ts'
import { attestationListJson, attestationReportJson } from '../catalog/attestation/attestationReads.ts'
import type { Queryable } from '../runtime/db/pool.ts'

/** Public reads of the hardware of the private tier. */
export function privacyHandlers(db: Queryable) {
  return {
    get_privacy_attestation: {
      read: async ({ query }) => {
        const report = query['report']
        if (typeof report === 'string') return { json: await attestationReportJson(db, report) }
        return { json: await attestationListJson(db, Date.now()) }
      },
    },
  } as const satisfies Record<string, ApiHandler>
}
