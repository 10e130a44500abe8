/** What an API key may spend, in units; null is no cap. */
export interface SpendingCaps {
  readonly hourUnits: number | null
  readonly dayUnits: number | null
  readonly monthUnits: number | null
  /** Over the key's whole life. */
  readonly budgetUnits: number | null
}

export const NO_CAPS: SpendingCaps = { hourUnits: null, dayUnits: null, monthUnits: null, budgetUnits: null }
