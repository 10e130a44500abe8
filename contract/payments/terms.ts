import type { Address } from './address.ts'

/** How the token moves: the payer signs for the token itself (EIP-3009), or for Permit2. */
export type TransferMethod = 'eip3009' | 'permit2'

export type AssetId = 'coin' | 'stablecoin'

/** A token that requests and deposits are paid in. */
export interface PaymentAsset {
  readonly id: AssetId
  readonly address: Address
  readonly decimals: number
  /** Name and version of the token's own EIP-712 domain. */
  readonly name: string
  readonly version: string
  readonly method: TransferMethod
  /** USD of one whole token, in units; 0 for the coin, whose price is on the price sheet. */
  readonly usdUnits: number
}

/** The assets, chain and recipient of payments; control sends them to the proxies. */
export interface PaymentTerms {
  readonly chainId: number
  readonly payTo: Address
  /** In the order they are offered: clients take the first that they can pay. */
  readonly assets: readonly PaymentAsset[]
  /** The ERC-8004 registry whose agents may be named, or null for none. */
  readonly agentRegistry: Address | null
  /** The contract that calls Permit2 for MPP credentials; signers name it. */
  readonly spender: Address
  /** Key of the MACs that bind quotes and challenges to a request. */
  readonly quoteSecret: Buffer
  /** The smallest charge of a request that is paid per call, units. */
  readonly minUnits: number
  /** How long a signature has to hold at least, so that its transfer gets into a block. */
  readonly marginSeconds: number
}
