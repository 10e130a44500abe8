import type { Invariant } from './check.ts'
import { sumsOf } from './sumTables.ts'

/** Invariants of referrals: every coin charge counts once, and the payouts are the share of the counted charges. */
export const referralInvariants = (isSinceMark: boolean): readonly Invariant[] => [
  {
    name: 'every coin charge of a referred account counts once',
    checked: `SELECT count(*) || ' referrals, counted are ' || (SELECT sum(position) FROM referral_cursors) || ' receipts'
      FROM referrals`,
    faults: `
      SELECT f.id || ' counted ' || f.base_units || ', its shares ' || coalesce(s.units, 0) || ', its charges ' ||
        coalesce(c.units, 0)
      FROM referrals f
      LEFT JOIN (SELECT referral_id, sum(base_units) AS units FROM referral_shares GROUP BY 1) s ON s.referral_id = f.id
      LEFT JOIN (
        SELECT referral_id AS id, sum(units) AS units FROM ${sumsOf('referrals', isSinceMark)} AS counted GROUP BY 1
      ) c ON c.id = f.id
      WHERE f.base_units <> coalesce(s.units, 0) OR f.base_units <> coalesce(c.units, 0)
      UNION ALL
      SELECT 'counted up to ' || c.position || ' of ' || h.size || ' receipts of log ' || c.log
      FROM referral_cursors c JOIN usage_log_heads h USING (log)
      WHERE c.position > h.size`,
  },
  {
    name: 'every referral is paid its share',
    checked: `SELECT count(*) || ' shares' FROM referral_shares`,
    faults: `
      SELECT f.id || ' earned ' || f.earned_units || ' and ' || f.rest || '/10000, its shares ' || coalesce(s.units, 0) ||
        ', due were ' || coalesce(s.due, 0) || '/10000'
      FROM referrals f LEFT JOIN (
        SELECT referral_id, sum(units) AS units, sum(base_units::numeric * share_bps) AS due FROM referral_shares GROUP BY 1
      ) s ON s.referral_id = f.id
      WHERE f.earned_units <> coalesce(s.units, 0) OR f.earned_units * 10000::numeric + f.rest <> coalesce(s.due, 0)
      UNION ALL
      SELECT coalesce(s.ref, t.ref) || ' is a share of ' || coalesce(s.units, 0) ||
        ', paid were ' || coalesce(t.units, 0)
      FROM (
        SELECT s.*, 'revenue' AS payer, f.referrer_id,
          s.referral_id || CASE WHEN s.log = 64 THEN ':' ELSE ':' || s.log || ':' END || s.to_position AS ref
        FROM referral_shares s JOIN referrals f ON f.id = s.referral_id
      ) s
      FULL JOIN (SELECT * FROM transfers WHERE kind = 'referral') t ON t.ref = s.ref
        AND t.debit = s.payer AND t.credit = 'coin:' || s.referrer_id
      WHERE coalesce(s.units, 0) <> coalesce(t.units, 0)`,
  },
]
