import type { Invariant } from './check.ts'

/** Invariants of compute locks within the book. */
export const LOCK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'tokens of every series are held, in escrow, on the chain or burnt',
    checked: `SELECT count(*) || ' series, ' || count(*) FILTER (WHERE state <> 'closed') || ' of them not closed' FROM lock_series`,
    faults: `
      SELECT s.id || ' has issued ' || coalesce(t.issued, 0) || ' of ' || s.supply_micros::numeric * (s.locked_price_units / 1000000) ||
        ' units, of which ' || -i.balance::numeric || ' are not burnt, held ' || coalesce(h.units, 0) || ', in escrow ' || e.balance || ', on the chain ' || coalesce(c.balance, 0)
      FROM lock_series s JOIN ledger_accounts e ON e.id = 'lock_escrow:' || s.id
        JOIN ledger_accounts i ON i.id = 'lock_issued:' || s.id
        LEFT JOIN ledger_accounts c ON c.id = 'lock_onchain:' || s.id
        LEFT JOIN (SELECT split_part(id, ':', 2) AS series_id, sum(balance) AS units FROM ledger_accounts WHERE kind = 'lock'
          GROUP BY 1) h ON h.series_id = s.id
        LEFT JOIN (SELECT debit, sum(units) AS issued FROM transfers WHERE kind = 'lock_issue' GROUP BY 1) t ON t.debit = i.id
      WHERE coalesce(t.issued, 0) <> s.supply_micros::numeric * (s.locked_price_units / 1000000)
        OR -i.balance::numeric <> coalesce(h.units, 0) + e.balance + coalesce(c.balance, 0)
        OR (s.state = 'closed' AND coalesce(h.units, 0) + e.balance + coalesce(c.balance, 0) <> 0)`,
  },
  {
    name: 'escrow of locks equals their open orders',
    checked: `SELECT count(*) || ' orders, ' || count(*) FILTER (WHERE status = 'open') || ' of them open' FROM lock_orders`,
    faults: `
      SELECT 'escrow_locks has ' || l.balance || ', open bids ' || o.nanos
      FROM ledger_accounts l, (SELECT coalesce(sum(escrow_nanos), 0) AS nanos FROM lock_orders WHERE status = 'open') o
      WHERE l.id = 'escrow_locks' AND l.balance <> o.nanos
      UNION ALL
      SELECT e.id || ' has ' || e.balance || ', open asks ' || coalesce(o.micros, 0) * (s.locked_price_units / 1000000)
      FROM lock_series s JOIN ledger_accounts e ON e.id = 'lock_escrow:' || s.id
        LEFT JOIN (SELECT series_id, sum(escrow_micros) AS micros FROM lock_orders WHERE status = 'open' GROUP BY 1) o
          ON o.series_id = s.id
      WHERE e.balance <> coalesce(o.micros, 0) * (s.locked_price_units / 1000000)
      UNION ALL
      SELECT id || ' has ' || escrow_nanos || ' nanos and ' || escrow_micros || ' micro-tokens in escrow, ' ||
        token_micros - filled_micros || ' micro-tokens are open'
      FROM lock_orders WHERE status = 'open' AND (
        escrow_micros <> CASE side WHEN 'sell' THEN token_micros - filled_micros ELSE 0 END OR
        escrow_nanos <> CASE side WHEN 'buy' THEN (token_micros - filled_micros)::numeric * price_nanos / 1000000 ELSE 0 END)`,
  },
  {
    name: 'orders of locks are filled as their fills say',
    checked: `SELECT count(*) || ' fills' FROM lock_fills`,
    faults: `
      SELECT o.id || ' is filled by ' || o.filled_micros || ', its fills are ' || coalesce(f.micros, 0)
      FROM lock_orders o LEFT JOIN (
        SELECT id, sum(micros) AS micros FROM (
          SELECT maker_order AS id, token_micros AS micros FROM lock_fills
          UNION ALL SELECT taker_order, token_micros FROM lock_fills) AS sides GROUP BY id) f ON f.id = o.id
      WHERE o.filled_micros <> coalesce(f.micros, 0) OR (o.status = 'filled') <> (o.filled_micros = o.token_micros)
      UNION ALL
      SELECT f.taker_order || ' with the orders of ' || f.account_id || ' cost ' || f.cost_nanos || ' and ' || f.fee_nanos ||
        ', moved were ' || coalesce(t.nanos, 0) || ' and ' || coalesce(t.units, 0) || ' units of tokens'
      FROM (
        SELECT f.taker_order, maker.account_id, f.series_id, sum(f.cost_nanos) AS cost_nanos, sum(f.fee_nanos) AS fee_nanos,
          sum(f.token_micros) AS micros, bool_and(f.cost_nanos = f.token_micros::numeric * f.price_nanos / 1000000) AS is_exact
        FROM lock_fills f JOIN lock_orders maker ON maker.id = f.maker_order GROUP BY 1, 2, 3
      ) f JOIN lock_series s ON s.id = f.series_id JOIN lock_orders taker ON taker.id = f.taker_order
        LEFT JOIN (
          SELECT split_part(t.ref, ':', 1) AS taker_order, maker.account_id,
            sum(coalesce(t.coin_nanos, t.units)) FILTER (WHERE t.kind IN ('lock_sale', 'lock_fee')) AS nanos,
            sum(t.units) FILTER (WHERE t.kind = 'lock_tokens') AS units
          FROM transfers t JOIN lock_orders maker ON maker.id = split_part(t.ref, ':', 2)
          WHERE t.kind IN ('lock_sale', 'lock_fee', 'lock_tokens') GROUP BY 1, 2
        ) t ON t.taker_order = f.taker_order AND t.account_id = f.account_id
      WHERE coalesce(t.nanos, 0) <> f.cost_nanos + CASE taker.side WHEN 'buy' THEN f.fee_nanos ELSE 0 END
        OR coalesce(t.units, 0) <> f.micros * (s.locked_price_units / 1000000) OR NOT f.is_exact`,
  },
  {
    name: 'holders of broken locks are paid back as booked',
    checked: `SELECT count(*) || ' paid back' FROM lock_paybacks`,
    faults: `
      SELECT coalesce(b.id, t.ref) || ' pays back ' || coalesce(b.coin_nanos, 0) || ' nanos for ' || coalesce(b.units, 0) ||
        ' units, its transfers are ' || coalesce(t.nanos, 0) || ' and ' || coalesce(t.units, 0)
      FROM lock_paybacks b FULL JOIN (
        SELECT ref, min(credit) FILTER (WHERE starts_with(credit, 'coin:')) AS receiver, count(*) AS transfers,
          sum(coalesce(coin_nanos, units)) FILTER (WHERE starts_with(debit, 'lock_unearned:')) AS nanos,
          sum(units) FILTER (WHERE starts_with(debit, 'lock:')) AS units,
          min(debit) FILTER (WHERE starts_with(debit, 'lock:')) AS holding
        FROM transfers WHERE kind = 'lock_payback' GROUP BY ref
      ) t ON t.ref = b.id AND t.holding = 'lock:' || b.series_id || ':' || b.account_id
      WHERE coalesce(t.units, 0) <> coalesce(b.units, 0) OR coalesce(t.nanos, 0) <> coalesce(b.coin_nanos, 0)
        OR t.receiver <> 'coin:' || b.account_id OR t.transfers <> CASE WHEN b.coin_nanos > 0 THEN 2 ELSE 1 END
      UNION ALL
      SELECT b.id || ' pays back tokens of ' || s.id || ', which is open'
      FROM lock_paybacks b JOIN lock_series s ON s.id = b.series_id WHERE s.state = 'open'`,
  },
  {
    name: 'no book of locks is crossed',
    checked: `SELECT count(DISTINCT series_id) || ' books' FROM lock_orders WHERE status = 'open'`,
    faults: `
      SELECT series_id || ' has a bid at ' || bid || ' and an ask at ' || ask
      FROM (SELECT series_id, max(price_nanos) FILTER (WHERE side = 'buy') AS bid,
          min(price_nanos) FILTER (WHERE side = 'sell') AS ask
        FROM lock_orders WHERE status = 'open' GROUP BY series_id) AS best
      WHERE bid >= ask`,
  },
]
