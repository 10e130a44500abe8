import { bySpan, SPANS, type Span, type SpendingCaps } from '../../../contract/money/windows.ts'

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

/** The column of a cap. */
type CapColumn<Of extends Span> = Of extends 'life' ? 'budget_units' : `cap_${Of}_units`

export const capColumn = <Of extends Span>(span: Of) => {
  return (span === 'life' ? 'budget_units' : `cap_${span}_units`) as CapColumn<Of>
}

export interface KeyRow extends Readonly<Record<CapColumn<Span>, number | null>> {
  readonly id: string
  readonly account_id: string
  readonly hash: string
  readonly last4: string
  readonly name: string
  readonly paused: boolean
  readonly models: string[]
  readonly tools: string[]
  readonly no_logs: boolean
  readonly private_tier: boolean
  readonly allow_retention: boolean | null
  readonly can_transfer: boolean
  readonly requests_per_minute: number
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  readonly created_at: Date
  readonly is_platform: boolean
  readonly platform_key_id: string | null
  readonly platform_user: string
}

export const COLUMNS = [
  'id',
  'account_id',
  'hash',
  'last4',
  'name',
  'paused',
  ...SPANS.map(capColumn),
  'models',
  'tools',
  'no_logs',
  'private_tier',
  'allow_retention',
  'requests_per_minute',
  'expires_at',
  'revoked_at',
  'created_at',
  'is_platform',
  'platform_key_id',
  'platform_user',
  'can_transfer',
].join(', ')

export function asApiKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    hash: row.hash,
    last4: row.last4,
    name: row.name,
    paused: row.paused,
    caps: bySpan((span) => row[capColumn(span)]),
    models: row.models,
    tools: row.tools,
    noLogs: row.no_logs,
    privateTier: row.private_tier,
    allowRetention: row.allow_retention,
    canTransfer: row.can_transfer,
    requestsPerMinute: row.requests_per_minute,
    expiresAtMs: row.expires_at?.getTime() ?? null,
    revokedAtMs: row.revoked_at?.getTime() ?? null,
    createdAtMs: row.created_at.getTime(),
    isPlatform: row.is_platform,
    platformKeyId: row.platform_key_id,
    platformUser: row.platform_user,
  }
}
