import type { Redis } from '../../../contract/wire/redis.ts'
import { defineScript, type Script } from '../../../contract/wire/scripts.ts'

/** The scripts of leases, on a connection. */
export interface LeaseScripts {
  readonly lease: Script
  readonly deliver: Script
  readonly syncLeases: Script
  readonly reportLeases: Script
}

export function leaseScripts(redis: Redis): LeaseScripts {
  return {
    lease: defineScript(redis, 'lease'),
    deliver: defineScript(redis, 'deliver'),
    syncLeases: defineScript(redis, 'syncLeases'),
    reportLeases: defineScript(redis, 'reportLeases'),
  }
}
