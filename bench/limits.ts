import { readLimits } from '../control/limits.ts'

/** The limits that the parts of control go by which a measurement runs in its own process. */
export const limits = readLimits(undefined)
