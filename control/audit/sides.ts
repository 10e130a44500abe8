/**
 * Both sides of transfers that are added up by debit and credit, as the view `postings` has them.
 * @param moved names rows (debit, credit, units, nanos)
 * @returns SQL of rows (account, currency, amount)
 */
export function sidesOf(moved: string): string {
  return `
    SELECT side.account, side.currency, sum(side.amount) FROM ${moved} m
    LEFT JOIN ledger_accounts d ON d.id = m.debit
    LEFT JOIN ledger_accounts c ON c.id = m.credit
    CROSS JOIN LATERAL (
      SELECT coalesce(d.currency, 'usd') AS debited, coalesce(c.currency, 'usd') AS credited
    ) AS both_sides
    CROSS JOIN LATERAL (
      SELECT m.debit AS account, debited AS currency, CASE debited WHEN 'coin' THEN -m.nanos ELSE -m.units END AS amount
      UNION ALL
      SELECT m.credit, credited, CASE credited WHEN 'coin' THEN m.nanos ELSE m.units END
      UNION ALL
      SELECT 'exchange', 'coin', CASE debited WHEN 'coin' THEN m.nanos ELSE -m.nanos END WHERE debited <> credited
      UNION ALL
      SELECT 'exchange', 'usd', CASE debited WHEN 'usd' THEN m.units ELSE -m.units END WHERE debited <> credited
    ) AS side
    GROUP BY 1, 2`
}
