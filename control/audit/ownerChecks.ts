import type { Invariant } from './check.ts'
import { sumsOf } from './sumTables.ts'

/** Invariants of the owners of ledger accounts, grants and keys. */
export const OWNER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'ledger accounts of customers are those of their owners',
    checked: `SELECT count(*) || ' accounts' FROM admission_accounts`,
    faults: `
      SELECT l.id || ' of ' || coalesce(l.owner, 'nobody') || ' is not an account of its owner, or may be overdrawn'
      FROM ledger_accounts l LEFT JOIN admission_accounts a ON a.account_id = l.owner
      WHERE l.kind = 'coin' AND (l.id <> 'coin:' || l.owner OR a.account_id IS NULL AND NOT starts_with(l.owner, 'payer_'))
        OR l.kind <> 'system' AND l.may_go_negative
        OR starts_with(l.id, 'coin:') AND l.kind <> 'coin' OR starts_with(l.id, 'grant:') AND l.kind <> 'grant'`,
  },
  {
    name: 'every grant with credits left is open and expires when it was said',
    checked: `SELECT count(*) || ' grants, ' || (SELECT count(*) FROM open_grants) || ' of them open' FROM grants`,
    faults: `
      SELECT coalesce(g.id, o.grant_id) || ' of ' || coalesce(g.account_id, 'nobody') || ' with ' || coalesce(l.balance, 0) || ' units left ' ||
        CASE WHEN o.grant_id IS NULL THEN 'is not open' ELSE 'is of ' || o.account_id || ' until ' || o.expires_at_ms ||
          ' where it is open, until ' || coalesce(g.expires_at_ms, 0) || ' where it was granted' END
      FROM grants g FULL JOIN open_grants o ON o.grant_id = g.id
        LEFT JOIN ledger_accounts l ON l.id = 'grant:' || coalesce(g.id, o.grant_id)
      WHERE CASE WHEN o.grant_id IS NULL THEN l.balance IS DISTINCT FROM 0
        ELSE (o.account_id, o.expires_at_ms) IS DISTINCT FROM (g.account_id, g.expires_at_ms) END
        OR l.owner IS DISTINCT FROM g.account_id
      UNION ALL
      SELECT g.id || ' expires at ' || g.expires_at_ms || ', its account was shown ' || (a.details ->> 'expires_at')
      FROM grants g JOIN activity a ON a.account_id = g.account_id AND a.type = 'credits.granted' AND a.target = g.id
      WHERE floor(extract(epoch FROM (a.details ->> 'expires_at')::timestamptz) * 1000) <> g.expires_at_ms`,
  },
  {
    name: 'caps of keys and their revocation are those of the audit trail',
    checked: `SELECT count(*) || ' keys' FROM api_keys`,
    faults: `
      SELECT k.id || ' has the caps ' || concat_ws(', ', k.cap_hour_units, k.cap_day_units, k.cap_month_units, k.budget_units) ||
        CASE WHEN k.revoked_at IS NULL THEN ' and goes on' ELSE ' and is revoked' END || ', which its changes do not say'
      FROM api_keys k CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE type IN ('key.created', 'sub_key.created')) AS made,
          (SELECT jsonb_object_agg(given.name, given.value) FROM (
            SELECT DISTINCT ON (cap.name) cap.name, cap.value FROM activity c
            CROSS JOIN LATERAL (
              SELECT key AS name, value FROM jsonb_each(CASE jsonb_typeof(c.details -> 'caps') WHEN 'object' THEN c.details -> 'caps' ELSE '{}' END)
              UNION ALL SELECT 'budget', c.details -> 'budget' WHERE c.details ? 'budget'
            ) AS cap
            WHERE c.account_id = k.account_id AND c.target = k.id AND c.type IN ('key.created', 'key.updated', 'sub_key.created')
            ORDER BY cap.name, c.at DESC, c.id DESC
          ) AS given) AS caps
        FROM activity a WHERE a.account_id = k.account_id AND a.target = k.id
      ) AS told
      WHERE told.made > 0 AND (
        (caps ->> 'hour')::numeric * 1000000000 IS DISTINCT FROM k.cap_hour_units
        OR (caps ->> 'day')::numeric * 1000000000 IS DISTINCT FROM k.cap_day_units
        OR (caps ->> 'month')::numeric * 1000000000 IS DISTINCT FROM k.cap_month_units
        OR (caps ->> 'budget')::numeric * 1000000000 IS DISTINCT FROM k.budget_units)
      UNION ALL
      SELECT k.id || ' was revoked, and is not' FROM api_keys k WHERE k.revoked_at IS NULL AND EXISTS (
        SELECT FROM activity a WHERE a.account_id = k.account_id AND a.target = k.id AND a.type IN ('key.revoked', 'sub_key.revoked'))`,
  },
]

/** Usage is of the account of its key. */
export const keyOwnerInvariants = (isSinceMark: boolean): readonly Invariant[] => [
  {
    name: 'keys are used by their own accounts alone',
    checked: `SELECT count(DISTINCT key_id) || ' keys' FROM key_usage`,
    faults: `
      SELECT DISTINCT u.key_id || ' of ' || k.account_id || ' was used by ' || u.account_id
      FROM (
        SELECT key_id, account_id FROM ${sumsOf('usage_days', isSinceMark)} AS used
        UNION SELECT key_id, account_id FROM key_usage
      ) u JOIN api_keys k ON k.id = u.key_id WHERE k.account_id <> u.account_id`,
  },
]
