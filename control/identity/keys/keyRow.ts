import { SPANS, type Span, type SpendingCaps } from '../../../contract/money/windows.ts'
import { camelColumns, msColumns } from '../../runtime/db/columns.ts'

/** A key as stored in the book, without its secret, which is not stored. */
export interface ApiKey {
  readonly id: string
  readonly accountId: string
  readonly hash: string
  readonly last4: string
  readonly name: string
  readonly paused: boolean
  readonly caps: SpendingCaps
  readonly models: readonly string[]
  /** Ids of priced tools; empty allows all. */
  readonly tools: readonly string[]
  readonly noLogs: boolean
  readonly privateTier: boolean
  /** Traces may have the content of its requests; not on the private tier. */
  readonly captureContent: boolean
  /** The opt-in to providers and tools that keep data; null: the account's counts. */
  readonly allowRetention: boolean | null
  /** It may move coin: fund agents, and pay from them. */
  readonly canTransfer: boolean
  readonly requestsPerMinute: number
  /** Tokens in any minute, and requests in flight, over all proxies; zero is no limit. */
  readonly tokensPerMinute: number
  readonly parallel: number
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
  readonly createdAtMs: number
  /** It makes sub-keys. */
  readonly isPlatform: boolean
  /** The platform key that made it; null for an account's own key. */
  readonly platformKeyId: string | null
  readonly platformUser: string
  /** Tags of its requests that do not say otherwise, as contract/money/tags.ts has them. */
  readonly tags: string
}

/** The column of a cap. */
export const capColumn = (span: Span): string => (span === 'life' ? 'budget_units' : `cap_${span}_units`)

export const COLUMNS = [
  camelColumns(`id, account_id, hash, last4, name, paused, models, tools, no_logs, private_tier, capture_content,
    allow_retention, can_transfer, requests_per_minute, tokens_per_minute, parallel, is_platform, platform_key_id, platform_user, tags`),
  msColumns('expires_at, revoked_at, created_at'),
  `json_build_object(${SPANS.map((span) => `'${span}', ${capColumn(span)}`).join(', ')}) AS caps`,
].join(', ')
