import { type Json } from './apiClient.ts'

/** A key of an account as the account API shows it. */
export interface Key extends Json {
  readonly id: string
  readonly api_key: string
  readonly last4: string
}

/** A page of keys. */
export interface List {
  readonly object: string
  readonly data: Key[]
  readonly has_more: boolean
}
