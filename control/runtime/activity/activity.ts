import { newId } from '../../../contract/wire/ids.ts'
import { textArray } from '../db/arrays.ts'
import type { Queryable } from '../db/pool.ts'

/** The author of a change, and its origin. */
export interface Actor {
  readonly kind: 'wallet' | 'key' | 'operator' | 'gateway'
  /** The wallet's address or the key's id; empty for the operator and the gateway itself. */
  readonly id: string
  readonly clientAddress?: string
  readonly requestId?: string
}

export const OPERATOR: Actor = { kind: 'operator', id: '' }
/** In place of an account, for entries that belong to none, such as those of routes and incidents. */
export const GATEWAY_WIDE = ''
export const GATEWAY: Actor = { kind: 'gateway', id: '' }

export interface Change {
  readonly accountId: string
  /** Such as 'key.created'. */
  readonly type: string
  /** The id of the changed object. */
  readonly target: string
  /** Details that the account's owner may see; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** Writes changes to the audit trail, in the transaction that makes them. */
export async function recordActivity(client: Queryable, actor: Actor, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return
  await client.query(
    `INSERT INTO activity (id, account_id, type, actor_kind, actor_id, target, details, client_address, request_id)
     SELECT c.id, c.account_id, c.type, $6, $7, c.target, c.details::jsonb, $8, $9
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS c (id, account_id, type, target, details)`,
    [
      textArray(changes.map(() => newId('evt'))),
      textArray(changes.map((change) => change.accountId)),
      textArray(changes.map((change) => change.type)),
      textArray(changes.map((change) => change.target)),
      textArray(changes.map((change) => JSON.stringify(change.details ?? {}))),
      actor.kind,
      actor.id,
      actor.clientAddress ?? '',
      actor.requestId ?? '',
    ],
  )
}

interface ActivityRow {
  readonly id: string
  readonly type: string
  readonly actor_kind: Actor['kind']
  readonly actor_id: string
  readonly target: string
  readonly details: Record<string, unknown>
  readonly client_address: string
  readonly request_id: string
  readonly at: Date
}

/**
 * The changes of an account, newest first, as they are shown.
 * @param after the id of the last entry of the page before, or ''
 */
export async function listActivity(db: Queryable, accountId: string, limit: number, after: string) {
  const found = await db.query<ActivityRow>(
    `SELECT id, type, actor_kind, actor_id, target, details, client_address, request_id, at FROM activity
     WHERE account_id = $1 AND ($2 = '' OR id < $2) ORDER BY id DESC LIMIT $3`,
    [accountId, after, limit],
  )
  return found.rows.map((row) => ({
    object: 'activity' as const,
    id: row.id,
    type: row.type,
    actor: { type: row.actor_kind, id: row.actor_id || null },
    target: row.target,
    details: row.details,
    client_address: row.client_address || null,
    request_id: row.request_id || null,
    created_at: row.at.toISOString(),
  }))
}
