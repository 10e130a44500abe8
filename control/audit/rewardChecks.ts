import { revenueTotalSql } from '../products/holders/rewards/revenueTotal.ts'
import type { Invariant } from './check.ts'

/** Invariants of shares of the revenue within the book. */
export const REWARD_INVARIANTS: readonly Invariant[] = [
  {
    name: 'shares of the revenue are those of the net revenue, to the last unit',
    checked: `SELECT count(*) || ' periods' FROM revenue_periods WHERE number > 0`,
    faults: `
      SELECT 'period ' || number || ' does not follow the one before' FROM (
        SELECT *, lag(number) OVER w AS number_before, lag(ends_at) OVER w AS end_before, lag(total_units) OVER w AS total_before,
          lag(deficit_units) OVER w AS deficit_before, lag(reward_rest) OVER w AS rest_before,
          lag(vault_rest) OVER w AS vault_rest_before, lag(pool_nanos::numeric - earned_nanos) OVER w AS unearned_before,
          lag(carried_nanos) OVER w AS carried_before
        FROM revenue_periods WINDOW w AS (ORDER BY number)
      ) p CROSS JOIN LATERAL (SELECT greatest(net_units - deficit_before, 0) AS shared) AS s
      WHERE number > 0 AND (number_before IS NULL OR number <> number_before + 1 OR starts_at <> end_before
        OR net_units <> total_units - total_before OR deficit_units <> greatest(deficit_before - net_units, 0)
        OR 2::numeric * reward_units + reward_rest NOT IN (shared + rest_before, rest_before)
        OR 10000::numeric * vault_units + vault_rest <> shared * vault_bps + vault_rest_before
        OR pool_nanos <> reward_nanos::numeric + unearned_before
        OR carried_before::numeric + earned_nanos <> paid_nanos::numeric + credited_nanos + carried_nanos)
      UNION ALL
      SELECT 'period ' || number || ' counts ' || total_units || ' units of revenue, the book has ' || booked
      FROM (SELECT number, ends_at, total_units FROM revenue_periods ORDER BY number DESC LIMIT 1) p
      CROSS JOIN LATERAL (SELECT ${revenueTotalSql('p.ends_at')} AS booked) AS b WHERE booked <> total_units
      UNION ALL
      SELECT coalesce(p.number::text, t.ref) || ' has ' || coalesce(p.units, 0) || ' units of the revenue, booked ' ||
        coalesce(t.units, 0)
      FROM (
        SELECT number, 'reward_share' AS kind, reward_units AS units, reward_nanos AS nanos FROM revenue_periods
        UNION ALL SELECT number, 'vault_share', vault_units, vault_nanos FROM revenue_periods
      ) p FULL JOIN (SELECT ref, kind, units, coalesce(coin_nanos, units) AS nanos FROM transfers
        WHERE kind IN ('reward_share', 'vault_share') AND debit = 'revenue') t ON t.ref = p.number::text AND t.kind = p.kind
      WHERE (coalesce(p.units, 0), coalesce(p.nanos, 0)) <> (coalesce(t.units, 0), coalesce(t.nanos, 0))`,
  },
  {
    name: 'what holders have earned is paid, credited, carried or owed',
    checked: `SELECT count(*) || ' holders' FROM reward_holders`,
    faults: `
      SELECT 'holders have ' || h.earned || ' nanos earned, ' || h.paid || ' paid and ' || h.credited || ' credited, periods ' ||
        p.earned || ', ' || p.paid || ' and ' || p.credited
      FROM (SELECT coalesce(sum(earned_nanos), 0) AS earned, coalesce(sum(paid_nanos), 0) AS paid,
          coalesce(sum(credited_nanos), 0) AS credited FROM reward_holders) h,
        (SELECT coalesce(sum(earned_nanos), 0) AS earned, coalesce(sum(paid_nanos), 0) AS paid,
          coalesce(sum(credited_nanos), 0) AS credited FROM revenue_periods) p
      WHERE (h.earned, h.paid, h.credited) <> (p.earned, p.paid, p.credited)
      UNION ALL
      SELECT 'period ' || p.number || ' pays ' || p.paid_nanos || ' and credits ' || p.credited_nanos || ', its holders get ' ||
        coalesce(s.paid, 0) || ' and ' || coalesce(s.credited, 0) || ', its payout is ' || coalesce(o.nanos, 0)
      FROM revenue_periods p
      LEFT JOIN (SELECT number, sum(nanos) FILTER (WHERE node IS NOT NULL) AS paid,
        sum(nanos) FILTER (WHERE node IS NULL) AS credited FROM reward_shares GROUP BY number) s USING (number)
      LEFT JOIN revenue_payouts o ON o.purpose = 'reward' AND o.number = p.number
      WHERE (p.paid_nanos, p.credited_nanos, p.paid_nanos)
        <> (coalesce(s.paid, 0), coalesce(s.credited, 0), coalesce(o.nanos, 0))
      UNION ALL
      SELECT 'the account ' || a.id || ' owes ' || a.balance || ' nanos, payouts and carried are ' || e.owed
      FROM ledger_accounts a
      JOIN (
        SELECT 'rewards' AS name, coalesce((SELECT sum(nanos) FROM revenue_payouts WHERE purpose = 'reward' AND state = 'sending'), 0)
          + coalesce((SELECT carried_nanos::numeric + pool_nanos - earned_nanos FROM revenue_periods ORDER BY number DESC LIMIT 1), 0) AS owed
        UNION ALL
        SELECT 'vault', coalesce((SELECT sum(nanos) FROM revenue_payouts WHERE purpose = 'vault' AND state = 'sending'), 0)
      ) e ON e.name = a.id
      WHERE a.balance <> e.owed`,
  },
  {
    name: 'every share of the revenue is sent once',
    checked: `SELECT count(*) || ' payouts, ' || count(*) FILTER (WHERE state = 'sending') || ' of them not sent'
      FROM revenue_payouts`,
    faults: `
      SELECT o.purpose || ' ' || o.number || ' is ' || o.state || ' and has ' || count(t.id) FILTER (WHERE t.state = 'mined') ||
        ' transfers on the chain'
      FROM revenue_payouts o LEFT JOIN chain_transactions t
        ON t.purpose = o.purpose AND t.subject_id = o.number::text
      GROUP BY o.purpose, o.number, o.state
      HAVING count(t.id) FILTER (WHERE t.state = 'mined') > 1 OR (count(t.id) FILTER (WHERE t.state IN ('pending', 'stuck')) = 0
        AND count(t.id) FILTER (WHERE t.state = 'mined') <> CASE o.state WHEN 'sent' THEN 1 ELSE 0 END)`,
  },
]
