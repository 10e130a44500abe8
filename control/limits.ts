import { CONTRACT_LIMITS, type ContractLimits, readPart } from '../contract/limits/limits.ts'
import { ADMISSION_LIMITS } from './admission/limits.ts'
import { API_LIMITS } from './api/limits.ts'
import { AUDIT_LIMITS } from './audit/limits.ts'
import { BATCH_LIMITS } from './batch/limits.ts'
import { BOOK_LIMITS } from './book/limits.ts'
import { CATALOG_LIMITS } from './catalog/limits.ts'
import { CUSTOMER_LIMITS } from './customers/limits.ts'
import { LAUNCH_LIMITS } from './launch/limits.ts'
import { ONCHAIN_LIMITS } from './onchain/limits.ts'
import { RUNTIME_LIMITS } from './runtime/limits.ts'

/** The limits of control alone, by floor. */
export const CONTROL_LIMITS = {
  ...RUNTIME_LIMITS,
  ...BOOK_LIMITS,
  ...CATALOG_LIMITS,
  ...API_LIMITS,
  ...ADMISSION_LIMITS,
  ...ONCHAIN_LIMITS,
  ...CUSTOMER_LIMITS,
  ...BATCH_LIMITS,
  ...AUDIT_LIMITS,
  ...LAUNCH_LIMITS,
}

type OwnLimits = Readonly<Record<keyof typeof CONTROL_LIMITS, number>>
export type Limits = ContractLimits & OwnLimits
export type LimitName = keyof Limits

/**
 * The limits that control, the command line and `make run` go by.
 * @param overrides the text of SLUICE_LIMITS; see `readPart`
 * @throws Error naming what is wrong in it
 */
export function readLimits(overrides: string | undefined): Limits {
  return readPart('control', { ...CONTRACT_LIMITS, ...CONTROL_LIMITS }, overrides)
}
