import type { Redis } from '../../../contract/wire/redis.ts'
import type { Debits } from '../../admission/debits/debit.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { AgentsLimits } from './limits.ts'

/** Dependencies of the endpoints of agents. */
export interface AgentParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly debits: Debits
  /** Applies bookings for these accounts to the admission state. */
  readonly applyToAdmission: (accountIds: readonly string[]) => Promise<unknown>
  readonly limits: AgentsLimits
}
