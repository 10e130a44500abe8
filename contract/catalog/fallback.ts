/**
 * Why another model may serve a request in place of the one it names.
 * - `unavailable`: no provider of the model can be asked, or each that was asked has failed.
 * - `rate_limited`: the providers of the model limit the gateway.
 * - `context_length`: the request does not fit into the model's context.
 */
export const FALLBACK_REASONS = ['unavailable', 'rate_limited', 'context_length'] as const
export type FallbackReason = (typeof FALLBACK_REASONS)[number]

/** Every reason: what a caller gets who names the models. */
export const ANY_REASON: ReadonlySet<FallbackReason> = new Set(FALLBACK_REASONS)
