/** The state of the chain that payments are made on; `not_configured` where the operator has named none. */
export const CHAIN_HEALTHS = ['ok', 'unavailable', 'not_configured'] as const
export type ChainHealth = (typeof CHAIN_HEALTHS)[number]
