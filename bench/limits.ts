import { readLimits } from '../control/limits.ts'

/** The limits for the parts of control that a measurement runs in its own process. */
export const limits = readLimits(undefined)
