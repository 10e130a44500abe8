import type { Invariant } from './check.ts'
import { escrowBy } from './escrow.ts'

const ESCROW_OF_WITHDRAWALS = escrowBy(
  'wdr_',
  'withdrawal',
  'withdrawal_sent',
  'withdrawal_unsent',
  'withdrawal_returned',
)

/** Invariants of deposits and withdrawals within the book. */
export const MOVEMENT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'every deposit is credited once',
    checked: `SELECT count(*) || ' deposits, ' || count(*) FILTER (WHERE state = 'failed') || ' of them failed' FROM deposits`,
    faults: `
      SELECT d.id || ' is ' || d.state || ' with ' || d.units || ' units, credited ' || coalesce(t.units, 0) || ' as ' ||
        coalesce(t.nanos, d.coin_nanos) || ' of ' || d.coin_nanos || ' nanos'
      FROM deposits d LEFT JOIN
        (SELECT ref, credit, sum(units) AS units, sum(coin_nanos) AS nanos FROM transfers WHERE kind = 'deposit'
          GROUP BY ref, credit) t
        ON t.ref = CASE d.source WHEN 'transfer' THEN d.replay_key ELSE d.id END AND t.credit = 'coin:' || d.account_id
      WHERE coalesce(t.units, 0) <> CASE WHEN d.state = 'credited' THEN d.units ELSE 0 END OR t.nanos <> d.coin_nanos
      UNION ALL
      SELECT t.ref || ' is credited to ' || t.credit || ' as a deposit that is not there' FROM transfers t
      WHERE t.kind = 'deposit' AND NOT EXISTS (SELECT FROM deposits d
        WHERE (d.id = t.ref OR d.replay_key = t.ref) AND t.credit = 'coin:' || d.account_id)`,
  },
  {
    name: 'every credited deposit is on the chain',
    checked: `SELECT count(*) || ' transactions' FROM chain_transactions WHERE purpose = 'deposit'`,
    faults: `
      SELECT d.id || ' is ' || d.state || ' and has ' || count(t.id) || ' transfers on the chain'
      FROM deposits d LEFT JOIN chain_transactions t
        ON t.purpose = 'deposit' AND t.ref IN (d.id, d.id || ':other') AND t.state = 'mined'
      LEFT JOIN (SELECT split_part(ref, ':', 1) AS id, sum(CASE kind WHEN 'deposit_lost' THEN 1 ELSE -1 END) AS times
        FROM transfers WHERE kind IN ('deposit_lost', 'deposit_found') GROUP BY 1) l ON l.id = d.id
      WHERE d.source = 'authorization' AND NOT EXISTS (SELECT FROM chain_transactions w WHERE w.purpose = 'deposit'
        AND w.ref IN (d.id, d.id || ':other') AND w.state IN ('pending', 'stuck'))
      GROUP BY d.id, d.state, l.times
      HAVING count(t.id) <> CASE WHEN d.state <> 'credited' THEN 0 ELSE 1 - coalesce(l.times, 0) END
      UNION ALL
      SELECT d.id || ' is of a transfer that was not seen on the chain' FROM deposits d
      WHERE d.source = 'transfer' AND NOT EXISTS (SELECT FROM chain_transfers t
        WHERE t.hash = split_part(d.replay_key, ':', 1) AND t.log_index::text = split_part(d.replay_key, ':', 2)
          AND t.purpose = 'deposit' AND t.amount = d.amount)
      UNION ALL
      SELECT t.hash || ' was counted twice, as a deposit and as a transaction of the gateway' FROM chain_transfers t
      WHERE t.purpose = 'deposit' GROUP BY t.hash, t.token, t.transfer_from, t.transfer_to, t.amount
      HAVING count(*) + (SELECT count(*) FROM chain_transactions o WHERE o.state = 'mined' AND o.hash = t.hash AND o.token = t.token
        AND o.transfer_from = t.transfer_from AND o.transfer_to = t.transfer_to AND o.amount = t.amount) > max(t.equals)`,
  },
  {
    name: 'every withdrawal is in escrow, sent once or returned',
    checked: `SELECT count(*) || ' withdrawals, ' || count(*) FILTER (WHERE state = 'sending') || ' of them not sent'
      FROM withdrawals`,
    faults: `
      SELECT coalesce(w.id, e.id) || ' is ' || coalesce(w.state, 'not there') || ' with ' || coalesce(w.coin_nanos, 0) ||
        ' nanos, in escrow are ' || coalesce(e.nanos, 0) || ' and ' || coalesce(e.units, 0) || ' units'
      FROM withdrawals w FULL JOIN (${ESCROW_OF_WITHDRAWALS}) e ON e.id = w.id
      WHERE coalesce(e.units, 0) <> 0
        OR coalesce(e.nanos, 0) <> CASE WHEN w.state = 'sending' THEN w.coin_nanos ELSE 0 END
      UNION ALL
      SELECT w.id || ' is ' || w.state || ' and has ' || count(t.id) || ' transfers on the chain'
      FROM withdrawals w LEFT JOIN chain_transactions t
        ON t.purpose = 'withdrawal' AND t.subject_id = w.id AND t.state = 'mined'
      WHERE NOT EXISTS (SELECT FROM chain_transactions p WHERE p.purpose = 'withdrawal'
        AND p.subject_id = w.id AND p.state IN ('pending', 'stuck'))
      GROUP BY w.id, w.state HAVING count(t.id) <> CASE w.state WHEN 'sent' THEN 1 ELSE 0 END`,
  },
]
