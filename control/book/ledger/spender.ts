import type { SpendingCaps } from '../../../contract/money/windows.ts'

/** A key that spends, within its caps. */
export interface Spender {
  readonly keyId: string
  readonly caps: SpendingCaps
  /** The platform key of a sub-key: spending counts against its caps as well. */
  readonly platform?: { readonly keyId: string; readonly caps: SpendingCaps }
}
