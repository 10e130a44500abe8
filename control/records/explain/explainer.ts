import { ERRORS, GatewayError, isErrorCode } from '../../../contract/errors/errors.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'
import { askProxies } from '../receipts/askProxies.ts'
import { isUnderWayAnywhere } from '../receipts/isUnderWay.ts'
import type { ReceiptReader } from '../receipts/receiptReader.ts'
import { type Check, checksOf } from './checks.ts'
import { findRefusal, findUnknownKey, type Refusal } from './refusalReads.ts'

/** The caller: an account, and one of its keys or '' for all; an empty account for the operator, who sees all requests. */
export interface Asker {
  readonly accountId: string
  readonly keyId: string
}

/** How a request went, and why. */
export interface Explanation {
  readonly object: 'request'
  readonly id: string
  /** Of its receipt; else refused, or for the operator open while it is not in the book. */
  readonly status: string
  readonly refused_at: string | null
  readonly account_id: string | null
  readonly key_id: string | null
  readonly route: string | null
  readonly endpoint: string | null
  readonly model: string | null
  readonly error: { code: string; status: number; message: string; retry_after_seconds: number | null } | null
  readonly refused_by: string | null
  readonly hold: Readonly<{ usd: string; least_usd: string; tokens: number | null; price_sheet: string }> | null
  readonly checks: readonly Check[]
  /** As GET /v1/receipts shows it. */
  readonly receipt: unknown
}

export const OPERATOR: Asker = { accountId: '', keyId: '' }

/** Explains requests by what the book and Redis have of them. */
export class Explainer {
  private readonly db: Queryable
  private readonly redis: Redis
  private readonly receipts: Pick<ReceiptReader, 'booked'>
  private readonly limits: RecordsLimits

  constructor(db: Queryable, redis: Redis, receipts: Pick<ReceiptReader, 'booked'>, limits: RecordsLimits) {
    this.db = db
    this.redis = redis
    this.receipts = receipts
    this.limits = limits
  }

  /** @throws GatewayError request_not_found for what is not kept, or belongs to somebody else; receipt_archived */
  async explain(requestId: string, asker: Asker): Promise<Explanation> {
    if (!isId('req', requestId)) throw new GatewayError('request_not_found')
    const refusal = await findRefusal(this.redis, asker.accountId, requestId)
    if (refusal !== undefined) {
      if (!mayRead(asker, refusal.record.account, refusal.record.key)) throw new GatewayError('request_not_found')
      return refused(refusal, '')
    }
    const unknownKey = await this.ofUnknownKey(requestId, asker)
    if (unknownKey !== undefined) return unknownKey
    const receipt = await this.receipts.booked(requestId, asker.accountId, asker.keyId)
    if (receipt !== undefined) return served(requestId, JSON.parse(receipt))
    if (asker.accountId === '' && (await this.isOpen(requestId))) return { ...NOTHING, id: requestId, status: 'open' }
    throw new GatewayError('request_not_found')
  }

  private async ofUnknownKey(requestId: string, asker: Asker): Promise<Explanation | undefined> {
    const refusal = await findUnknownKey(this.redis, requestId)
    if (refusal === undefined) return undefined
    const found = await this.db.query<{ id: string; account_id: string; is_revoked: boolean }>(
      'SELECT id, account_id, revoked_at IS NOT NULL AS is_revoked FROM api_keys WHERE hash = $1',
      [refusal.record.keyHash ?? ''],
    )
    const [key] = found.rows
    if (!mayRead(asker, key?.account_id ?? '', key?.id ?? '')) return undefined
    if (key === undefined) return refused(refusal, 'unknown')
    const record = { ...refusal.record, account: key.account_id, key: key.id }
    return refused({ ...refusal, record }, key.is_revoked ? 'revoked' : 'expired')
  }

  /** Of any account, so that the operator alone gets it. */
  private async isOpen(requestId: string): Promise<boolean> {
    const { redis, limits } = this
    return (await isUnderWayAnywhere(redis, requestId, limits)) || askProxies(redis, requestId, limits)
  }
}

const NOTHING: Omit<Explanation, 'id' | 'status'> = {
  object: 'request',
  refused_at: null,
  account_id: null,
  key_id: null,
  route: null,
  endpoint: null,
  model: null,
  error: null,
  refused_by: null,
  hold: null,
  checks: [],
  receipt: null,
}

function mayRead(asker: Asker, accountId: string, keyId: string): boolean {
  if (asker.accountId === '') return true
  return asker.accountId === accountId && (asker.keyId === '' || asker.keyId === keyId)
}

function refused(refusal: Refusal, keyState: string): Explanation {
  const { record, atMs } = refusal
  const { figures, error, status, retryAfterSeconds } = record
  const checks = checksOf(refusal, keyState)
  return {
    ...NOTHING,
    id: record.id,
    status: 'refused',
    refused_at: new Date(atMs).toISOString(),
    account_id: record.account || null,
    key_id: record.key || null,
    route: record.route || null,
    endpoint: figures.endpoint ?? null,
    model: figures.model ?? null,
    error: {
      code: error,
      status,
      message: isErrorCode(error) ? ERRORS[error].message : '',
      retry_after_seconds: retryAfterSeconds || null,
    },
    refused_by: checks.find(({ result }) => result === 'refused')?.check ?? null,
    hold: holdOf(refusal),
    checks,
  }
}

function holdOf({ record: { figures } }: Refusal): Explanation['hold'] {
  const { wantUnits, leastUnits, tokensMax, sheetVersion } = figures
  if (wantUnits === undefined || leastUnits === undefined) return null
  return {
    usd: formatUsd(wantUnits),
    least_usd: formatUsd(leastUnits),
    tokens: tokensMax ?? null,
    price_sheet: String(sheetVersion ?? ''),
  }
}

/** @param receipt as JSON shows it */
function served(id: string, receipt: { status: string; model: string; endpoint: string }): Explanation {
  const { status, model, endpoint } = receipt
  return { ...NOTHING, id, status, model, endpoint, receipt }
}
