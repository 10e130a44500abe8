/**
 * The state of the chain that payments are made on; `behind` where its node or the book lacks blocks, or transactions wait long
 * for one, and `not_configured` where the operator has named none.
 */
export const CHAIN_HEALTHS = ['ok', 'behind', 'unavailable', 'not_configured'] as const
export type ChainHealth = (typeof CHAIN_HEALTHS)[number]
