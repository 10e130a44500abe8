-- Net revenue is counted less what registered providers are paid. Totals of closed periods move by what was paid until the last
-- of them ended, so that the next period counts the pay of its own time alone and closed periods stay as they were shared out.
ALTER TABLE revenue_periods DISABLE TRIGGER revenue_periods_append_only;
UPDATE revenue_periods SET total_units = total_units + paid.units
FROM (
  SELECT a.balance + coalesce((SELECT sum(t.units) FROM transfers t WHERE t.debit = a.id AND t.at >= l.ends_at), 0)
    - coalesce((SELECT sum(t.units) FROM transfers t WHERE t.credit = a.id AND t.at >= l.ends_at), 0) AS units
  FROM ledger_accounts a, (SELECT max(ends_at) AS ends_at FROM revenue_periods) AS l
  WHERE a.id = 'provider_cost' AND l.ends_at IS NOT NULL
) AS paid;
ALTER TABLE revenue_periods ENABLE TRIGGER revenue_periods_append_only;
