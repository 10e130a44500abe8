/** The spending caps of an API key, in units; null is no cap. */
export interface SpendingCaps {
  readonly hourUnits: number | null
  readonly dayUnits: number | null
  readonly monthUnits: number | null
  /** Over the key's whole life. */
  readonly budgetUnits: number | null
}

/** A key that spends, within its caps. */
export interface Spender {
  readonly keyId: string
  readonly caps: SpendingCaps
  /** The platform key of a sub-key: spending counts against its caps as well. */
  readonly platform?: { readonly keyId: string; readonly caps: SpendingCaps }
}

export const NO_CAPS: SpendingCaps = { hourUnits: null, dayUnits: null, monthUnits: null, budgetUnits: null }
