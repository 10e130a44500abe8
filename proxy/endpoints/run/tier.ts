import type { TIER } from '../../../contract/wire/settlementNames.ts'
import type { RunContext } from './context.ts'

/** The tier whose prices a request pays: its own, or that of its key. */
export function tierOf({ metered, principal }: Pick<RunContext, 'metered' | 'principal'>): keyof typeof TIER {
  return metered.tier ?? (principal.privateTier ? 'private' : 'standard')
}
