import { camelColumns, msColumns } from '../../runtime/db/columns.ts'
/** A key as stored in the book, without its secret, which is not stored. Caps are units; null is no cap. */
export interface ApiKey {
  readonly id: string
  readonly accountId: string
  readonly hash: string
  readonly last4: string
  readonly name: string
  readonly paused: boolean
  readonly capHourUnits: number | null
  readonly capDayUnits: number | null
  readonly capMonthUnits: number | null
  readonly budgetUnits: number | null
  readonly models: readonly string[]
  /** Ids of priced tools; empty allows all. */
  readonly tools: readonly string[]
  readonly noLogs: boolean
  readonly privateTier: boolean
  /** The opt-in to providers and tools that keep data; null: the account's counts. */
  readonly allowRetention: boolean | null
  /** It may move coin: fund agents, and pay from them. */
  readonly canTransfer: boolean
  readonly requestsPerMinute: number
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
  readonly createdAtMs: number
  /** It makes sub-keys. */
  readonly isPlatform: boolean
  /** The platform key that made it; null for an account's own key. */
  readonly platformKeyId: string | null
  readonly platformUser: string
}

export const COLUMNS = `${camelColumns(`id, account_id, hash, last4, name, paused, cap_hour_units, cap_day_units, cap_month_units,
  budget_units, models, tools, no_logs, private_tier, allow_retention, can_transfer, requests_per_minute, is_platform,
  platform_key_id, platform_user`)}, ${msColumns('expires_at, revoked_at, created_at')}`
