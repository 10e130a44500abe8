import type { Address } from './address.ts'

/** Permit2, at one address on every chain. https://docs.uniswap.org/contracts/permit2/overview */
export const PERMIT2_ADDRESS: Address = '0x000000000022d473030f116ddee9f6b43ac78ba3'
/** The spender of x402 `exact` payments through Permit2, at one address on every chain. */
export const EXACT_PROXY_ADDRESS: Address = '0x402085c248eea27d92e8b30b2c58ed07f9e20001'
