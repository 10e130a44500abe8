import type { Invariant } from './check.ts'

/** Transfers of tokens that requests have burnt, without those of archived months. */
const BURNS = `
  SELECT t.ref, sum(t.units) AS units, max(t.debit) FILTER (WHERE t.debit <> 'house') AS debit, max(t.credit) FILTER (WHERE starts_with(t.credit, 'lock_issued:')) AS credit
  FROM transfers t
  WHERE t.kind = 'burn' AND NOT EXISTS (SELECT FROM receipt_archives a WHERE t.ref >= a.from_id AND t.ref < a.until_id)
  GROUP BY t.ref`

/** Invariants of tokens that requests have burnt. */
export const LOCK_USE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'every receipt burns what was taken from the holding',
    checked: `SELECT count(*) || ' receipts that burn tokens' FROM receipts WHERE lock_units > 0`,
    faults: `
      SELECT coalesce(r.request_id, t.ref) || ' burns ' || coalesce(r.lock_units, 0) || ' units of ' ||
        coalesce(r.lock_series, 'no series') || ', its transfers are ' || coalesce(t.units, 0) || ' to ' ||
        coalesce(t.credit, 'no series')
      FROM (SELECT request_id, account_id, lock_series, lock_units FROM receipts WHERE lock_units > 0) r
      FULL JOIN (${BURNS}) t ON t.ref = r.request_id
      WHERE coalesce(r.lock_units, 0) <> coalesce(t.units, 0) OR t.credit <> 'lock_issued:' || r.lock_series
        OR t.debit <> 'lock:' || r.lock_series || ':' || r.account_id
      UNION ALL
      SELECT coalesce(k.month, t.month) || ' that was put away burnt ' || coalesce(k.units, 0) || ' units, its transfers are ' ||
        coalesce(t.units, 0)
      FROM (SELECT month, sum(units) AS units FROM archived_lock_uses GROUP BY month) k
      FULL JOIN (
        SELECT a.month, sum(t.units) AS units FROM transfers t
        JOIN receipt_archives a ON t.ref >= a.from_id AND t.ref < a.until_id WHERE t.kind = 'burn' GROUP BY a.month
      ) t ON t.month = k.month
      WHERE coalesce(k.units, 0) <> coalesce(t.units, 0)`,
  },
  {
    name: 'every receipt burns whole micro-tokens of its series',
    checked: `SELECT count(DISTINCT lock_series) || ' series' FROM receipts WHERE lock_units > 0`,
    faults: `
      SELECT r.request_id || ' burns ' || r.lock_micros || ' micro-tokens of ' || r.lock_series || ', which are not ' ||
        r.lock_units || ' units'
      FROM receipts r LEFT JOIN lock_series s ON s.id = r.lock_series AND s.model = r.model
      WHERE r.lock_units > 0 AND r.lock_units IS DISTINCT FROM r.lock_micros::numeric * (s.locked_price_units / 1000000)`,
  },
]
