import type { Invariant } from './check.ts'
import { sumsOf } from './sumTables.ts'

const CREDITS = `FROM ledger_accounts WHERE kind = 'payer_credit'`

/** Invariants of the credits of payers within the book. */
export const creditInvariants = (isSinceMark: boolean): readonly Invariant[] => [
  {
    name: 'payer credits are what payments kept and used',
    checked: `SELECT count(*) || ' credits of ' || coalesce(sum(balance), 0) || ' units' ${CREDITS}`,
    faults: `
      SELECT coalesce(a.id, p.id) || ' has ' || coalesce(a.balance::text, 'no account') || ', its payments kept and used ' ||
        coalesce(p.units, 0)
      FROM (SELECT id, balance ${CREDITS}) a FULL JOIN (
        SELECT ('payer_credit:' || payer || ':' || asset) COLLATE "C" AS id, sum(credit_kept_units::numeric - credit_used_units) AS units
        FROM payments GROUP BY 1 HAVING bool_or(credit_kept_units > 0 OR credit_used_units > 0)
      ) p ON p.id = a.id
      WHERE a.balance IS DISTINCT FROM coalesce(p.units, 0)
      UNION ALL
      SELECT p.id || ' used ' || p.credit_used_units || ' of a credit and kept ' || p.credit_kept_units ||
        ', its transfers are ' || coalesce(t.used, 0) || ' and ' || coalesce(t.kept, 0)
      FROM payments p LEFT JOIN (
        SELECT ref, sum(units) FILTER (WHERE kind = 'payer_credit_used') AS used,
          sum(units) FILTER (WHERE kind = 'payer_credit_kept') AS kept
        FROM transfers WHERE kind IN ('payer_credit_used', 'payer_credit_kept') GROUP BY ref) t ON t.ref = p.id
      WHERE p.credit_used_units <> coalesce(t.used, 0) OR p.credit_kept_units <> coalesce(t.kept, 0)
      UNION ALL
      SELECT t.ref || ' moved a credit of another wallet: ' || t.debit || ' to ' || t.credit
      FROM transfers t LEFT JOIN (
        SELECT id, 'coin:' || account_id AS coin, ('payer_credit:' || payer || ':' || asset) COLLATE "C" AS credit
        FROM payments
      ) p ON p.id = t.ref AND ((t.kind = 'payer_credit_used' AND t.debit = p.credit AND t.credit = p.coin) OR
        (t.kind = 'payer_credit_kept' AND t.debit = p.coin AND t.credit = p.credit))
      WHERE t.kind <> 'charge' AND (t.debit LIKE 'payer\\_credit:%' OR t.credit LIKE 'payer\\_credit:%') AND p.id IS NULL
      UNION ALL
      SELECT account || ' was charged ' || -amount FROM ${sumsOf('charges', isSinceMark)} c
      WHERE account LIKE 'payer\\_credit:%'`,
  },
  {
    name: 'payments of an asset are charged, refunded, kept or open',
    checked: `SELECT count(DISTINCT asset) || ' assets' FROM payments`,
    faults: `
      SELECT p.asset || ': paid ' || p.paid || ', charged ' || p.charged || ', fees ' || p.fees || ', refunded ' || p.refunded || ', credit ' ||
        coalesce(c.units, 0) || ', open ' || p.open
      FROM (
        SELECT p.asset, sum(t.units) AS paid, sum(p.units) FILTER (WHERE p.state = 'paid') AS open,
          sum(r.charge_units) FILTER (WHERE p.state = 'closed') AS charged,
          sum(p.back_units) FILTER (WHERE p.state = 'closed') AS refunded,
          sum(p.fee_units) FILTER (WHERE p.state = 'closed') AS fees
        FROM payments p JOIN transfers t ON t.ref = p.id AND t.kind = 'pay_in'
          LEFT JOIN ended_requests r ON r.request_id = p.id
        GROUP BY p.asset
      ) p LEFT JOIN (SELECT split_part(id, ':', 3) AS asset, sum(balance) AS units ${CREDITS} GROUP BY 1) c
        ON c.asset = p.asset
      WHERE p.paid <> coalesce(p.charged, 0) + coalesce(p.fees, 0) + coalesce(p.refunded, 0) + coalesce(c.units, 0) + coalesce(p.open, 0)`,
  },
  {
    name: 'accounts of payers hold what is open and what is to go back',
    checked: `SELECT count(DISTINCT payer) || ' payers' FROM payments`,
    faults: `
      SELECT l.id || ' has ' || l.balance || ', its payments ' || p.units
      FROM (
        SELECT p.account_id, sum(CASE p.state
          WHEN 'paid' THEN p.units - coalesce((SELECT sum(t.units) FROM transfers t
            WHERE t.ref = p.id AND t.kind = 'charge' AND t.debit = 'coin:' || p.account_id), 0)
          WHEN 'closed' THEN CASE WHEN p.refund_id IS NULL AND p.back_amount > 0 THEN p.back_units ELSE 0 END
          ELSE 0 END) AS units
        FROM payments p GROUP BY p.account_id
      ) p JOIN ledger_accounts l ON l.id = 'coin:' || p.account_id
      WHERE l.balance <> p.units`,
  },
]
