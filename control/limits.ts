import { CONTRACT_LIMITS, type ContractLimits, type LimitsOf, readPart } from '../contract/limits/limits.ts'
import { ADMISSION_LIMITS } from './admission/limits.ts'
import { API_LIMITS } from './api/limits.ts'
import { AUDIT_LIMITS } from './audit/limits.ts'
import { BATCH_LIMITS } from './batch/limits.ts'
import { BOOK_LIMITS } from './book/limits.ts'
import { CATALOG_LIMITS } from './catalog/limits.ts'
import { CHAIN_LIMITS } from './chain/limits.ts'
import { IDENTITY_LIMITS } from './identity/limits.ts'
import { LAUNCH_LIMITS } from './launch/limits.ts'
import { LOAD_LIMITS } from './load/limits.ts'
import { AGENTS_LIMITS } from './products/agents/limits.ts'
import { HOLDERS_LIMITS } from './products/holders/limits.ts'
import { LOCKS_LIMITS } from './products/locks/limits.ts'
import { MARKETPLACE_LIMITS } from './products/marketplace/limits.ts'
import { PAYMENTS_LIMITS } from './products/payments/limits.ts'
import { RESERVE_LIMITS } from './products/reserve/limits.ts'
import { SETTLEMENTS_LIMITS } from './products/settlements/limits.ts'
import { TRANSFERS_LIMITS } from './products/transfers/limits.ts'
import { RECORDS_LIMITS } from './records/limits.ts'
import { RUNTIME_LIMITS } from './runtime/limits.ts'
import { STATISTICS_LIMITS } from './statistics/limits.ts'

/** The limits of control alone, by floor. */
export const CONTROL_LIMITS = {
  ...RUNTIME_LIMITS,
  ...BOOK_LIMITS,
  ...CHAIN_LIMITS,
  ...CATALOG_LIMITS,
  ...ADMISSION_LIMITS,
  ...API_LIMITS,
  ...IDENTITY_LIMITS,
  ...AGENTS_LIMITS,
  ...BATCH_LIMITS,
  ...RESERVE_LIMITS,
  ...HOLDERS_LIMITS,
  ...PAYMENTS_LIMITS,
  ...LOCKS_LIMITS,
  ...MARKETPLACE_LIMITS,
  ...SETTLEMENTS_LIMITS,
  ...TRANSFERS_LIMITS,
  ...RECORDS_LIMITS,
  ...STATISTICS_LIMITS,
  ...AUDIT_LIMITS,
  ...LAUNCH_LIMITS,
  ...LOAD_LIMITS,
}

export type Limits = ContractLimits & LimitsOf<typeof CONTROL_LIMITS>

/**
 * The limits that control, the command line and `make run` go by.
 * @param overrides the text of SLUICE_LIMITS; see `readPart`
 * @throws Error naming what is wrong in it
 */
export function readLimits(overrides: string | undefined): Limits {
  return readPart('control', { ...CONTRACT_LIMITS, ...CONTROL_LIMITS }, overrides)
}
