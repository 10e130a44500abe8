import { hash } from 'node:crypto'
import { GatewayError } from '../../contract/errors/errors.ts'
import { canonicalJson } from '../../contract/payments/canonicalJson.ts'
import type { Client, Queryable } from '../runtime/db/pool.ts'
import type { ApiLimits } from './limits.ts'

/**
 * A request that may be retried: requests with the same caller (usually an account), key and fingerprint are the same request.
 */
export interface RepeatableRequest {
  readonly caller: string
  readonly key: string
  readonly fingerprint: string
}

export interface FirstAnswer {
  readonly status: number
  readonly body: string
}

/** Distinguishes requests with one Idempotency-Key; bodies with the same JSON value have the same fingerprint. */
export function fingerprintOf(method: string, path: string, query: string, body: object): string {
  return hash('sha256', `${method} ${path}?${query}\n${canonicalJson(body)}`, 'base64url')
}

/**
 * Takes an Idempotency-Key for this transaction. If a request with the same key is in progress, this waits for it: when it
 * commits, its answer is returned here; when it fails, this one takes its place.
 * @returns the first answer when the request was done before; undefined when it is to be done now
 * @throws GatewayError idempotency_conflict when the key was used with another request
 */
export async function takeIdempotencyKey(
  client: Client,
  request: RepeatableRequest,
  limits: ApiLimits,
): Promise<FirstAnswer | undefined> {
  const { caller, key, fingerprint } = request
  const taken = await client.query(
    `INSERT INTO idempotency_keys AS k (caller, key, fingerprint, status, body) VALUES ($1, $2, $3, 0, '')
     ON CONFLICT (caller, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = 0, body = '', created_at = now()
     WHERE k.created_at < now() - make_interval(secs => $4)`,
    [caller, key, fingerprint, limits.idempotencyKeptMs / 1_000],
  )
  if (taken.rowCount === 1) return undefined
  const found = await client.query<FirstAnswer & { fingerprint: string }>(
    'SELECT fingerprint, status, body FROM idempotency_keys WHERE caller = $1 AND key = $2',
    [caller, key],
  )
  const [first] = found.rows
  if (first === undefined) throw new Error('an Idempotency-Key was removed while it was looked at')
  if (first.fingerprint !== fingerprint) throw new GatewayError('idempotency_conflict', { param: 'Idempotency-Key' })
  return first
}

/** Keeps the answer under the key that this transaction has taken. */
export async function keepFirstAnswer(
  client: Client,
  { caller, key }: RepeatableRequest,
  answer: FirstAnswer,
): Promise<void> {
  await client.query('UPDATE idempotency_keys SET status = $3, body = $4 WHERE caller = $1 AND key = $2', [
    caller,
    key,
    answer.status,
    answer.body,
  ])
}

/** Gives back a key that this transaction has taken. */
export async function freeIdempotencyKey(client: Client, { caller, key }: RepeatableRequest): Promise<void> {
  await client.query('DELETE FROM idempotency_keys WHERE caller = $1 AND key = $2', [caller, key])
}

/** Forgets keys past their time, a bounded number in one call. @returns how many */
export async function forgetIdempotencyKeys(db: Queryable, limits: ApiLimits): Promise<number> {
  const removed = await db.query(
    `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY (SELECT ctid FROM idempotency_keys
       WHERE created_at < now() - make_interval(secs => $1) LIMIT $2))`,
    [limits.idempotencyKeptMs / 1_000, limits.housekeepingBatchMax],
  )
  return removed.rowCount ?? 0
}
