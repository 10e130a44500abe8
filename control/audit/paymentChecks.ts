import { CLIENT_FAULTS } from '../../contract/money/settlementFee.ts'
import type { Invariant } from './check.ts'

const CLIENT_FAULT_LIST = CLIENT_FAULTS.map((code) => `'${code}'`).join(', ')

/** Invariants of payments, refunds and deposits within the book. */
export const PAYMENT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'every payment that arrived is credited once',
    checked: `SELECT count(*) || ' payments, ' || count(*) FILTER (WHERE state = 'failed') || ' of them failed' FROM payments`,
    faults: `
      SELECT p.id || ' is ' || p.state || ' with ' || p.units || ' units, credited ' || coalesce(t.units, 0)
      FROM payments p LEFT JOIN
        (SELECT ref, sum(units) AS units FROM transfers WHERE kind = 'pay_in' GROUP BY ref) t ON t.ref = p.id
      WHERE coalesce(t.units, 0) <> CASE WHEN p.state IN ('paid', 'closed') THEN p.units ELSE 0 END
      UNION ALL
      SELECT t.ref || ' is credited as a payment that is not there' FROM transfers t
      WHERE t.kind = 'pay_in' AND NOT EXISTS (SELECT FROM payments p WHERE p.id = t.ref)`,
  },
  {
    name: 'every credited payment is on the chain',
    checked: `SELECT count(*) || ' transactions' FROM chain_transactions WHERE purpose = 'payment'`,
    faults: `
      SELECT p.id || ' is ' || p.state || ' and has ' || count(t.id) || ' transfers on the chain'
      FROM payments p LEFT JOIN chain_transactions t
        ON t.purpose = 'payment' AND t.ref IN (p.id, p.id || ':other') AND t.state = 'mined'
      LEFT JOIN (SELECT split_part(ref, ':', 1) AS id, sum(CASE kind WHEN 'pay_in_lost' THEN 1 ELSE -1 END) AS times
        FROM transfers WHERE kind IN ('pay_in_lost', 'pay_in_found') GROUP BY 1) l ON l.id = p.id
      WHERE NOT EXISTS (SELECT FROM chain_transactions w WHERE w.purpose = 'payment'
        AND w.ref IN (p.id, p.id || ':other') AND w.state IN ('pending', 'stuck'))
      GROUP BY p.id, p.state, l.times
      HAVING count(t.id) <> CASE WHEN p.state IN ('settling', 'failed') THEN 0 ELSE 1 - coalesce(l.times, 0) END`,
  },
  {
    name: 'every payment is charged, goes back or is kept',
    checked: `SELECT count(*) || ' closed payments' FROM payments WHERE state = 'closed'`,
    faults: `
      SELECT p.id || ': ' || p.units || ' units paid, ' || coalesce(r.charge_units::text, 'no receipt') || ' charged, ' ||
        p.back_units || ' to go back, ' || coalesce(t.units, 0) || ' set aside, ' || p.credit_used_units ||
        ' of credit used, ' || p.credit_kept_units || ' kept, ' || p.fee_units || ' fee'
      FROM payments p LEFT JOIN ended_requests r ON r.request_id = p.id LEFT JOIN
        (SELECT ref, sum(units) AS units FROM transfers WHERE kind IN ('refund', 'refund_rounding') GROUP BY ref) t
        ON t.ref = p.id
      WHERE p.state = 'closed' AND (r.charge_units IS NULL OR
        p.units::numeric + p.credit_used_units <> r.charge_units::numeric + p.fee_units + p.back_units + p.credit_kept_units OR
        coalesce(t.units, 0) <> CASE WHEN p.refund_id IS NULL AND p.back_amount > 0 THEN 0 ELSE p.back_units END)
      UNION ALL
      SELECT p.id || ' is ' || p.state || ' and went back' FROM payments p
      WHERE p.state <> 'closed' AND EXISTS (SELECT FROM transfers t WHERE t.kind = 'refund' AND t.ref = p.id)`,
  },
  {
    name: 'every charge of a payment is topped up to the smallest one, once',
    checked: `SELECT count(*) || ' fees' FROM payments WHERE fee_units > 0`,
    faults: `
      SELECT coalesce(p.id, t.ref) || ' has a fee of ' || coalesce(p.fee_units, 0) || ' where ' ||
        coalesce(p.due_units, 0) || ' is due, booked ' || coalesce(t.units, 0)
      FROM (
        SELECT p.id, p.account_id, p.fee_units, CASE
          WHEN p.state <> 'closed' THEN 0
          WHEN r.status NOT IN ('ok', 'partial') AND r.error_code NOT IN (${CLIENT_FAULT_LIST}) THEN 0
          ELSE greatest(p.min_units::numeric - r.charge_units, 0) END AS due_units
        FROM payments p LEFT JOIN ended_requests r ON r.request_id = p.id
      ) p FULL JOIN (SELECT ref, debit, credit, sum(units) AS units FROM transfers WHERE kind = 'settlement_fee'
        GROUP BY ref, debit, credit) t
        ON t.ref = p.id AND t.debit = 'coin:' || p.account_id AND t.credit = 'revenue'
      WHERE (coalesce(p.fee_units, 0), coalesce(p.fee_units, 0)) IS DISTINCT FROM
        (coalesce(p.due_units, 0), coalesce(t.units, 0))`,
  },
  {
    name: 'every refund is sent once',
    checked: `SELECT count(*) || ' refunds, ' || count(*) FILTER (WHERE state <> 'sent') || ' of them not sent' FROM refunds`,
    faults: `
      SELECT f.id || ' of ' || f.amount || ' is for payments that get back ' || coalesce(p.amount, 0)
      FROM refunds f LEFT JOIN (SELECT refund_id, sum(back_amount) AS amount FROM payments GROUP BY refund_id) p
        ON p.refund_id = f.id
      WHERE f.amount <> coalesce(p.amount, 0)
      UNION ALL
      SELECT f.id || ' is ' || f.state || ' with ' || f.units || ' units, sent ' || coalesce(t.units, 0)
      FROM refunds f LEFT JOIN (
        SELECT split_part(ref, '#', 1) AS id, sum(CASE kind WHEN 'refund_sent' THEN units ELSE -units END) AS units
        FROM transfers WHERE kind IN ('refund_sent', 'refund_returned') GROUP BY 1) t ON t.id = f.id
      WHERE coalesce(t.units, 0) <> CASE f.state WHEN 'sent' THEN f.units ELSE 0 END
      UNION ALL
      SELECT f.id || ' is ' || f.state || ' and has ' || count(*) FILTER (WHERE t.state = 'mined') || ' transfers on the chain'
      FROM refunds f LEFT JOIN chain_transactions t ON t.purpose = 'refund' AND t.subject_id = f.id
      GROUP BY f.id, f.state
      HAVING count(*) FILTER (WHERE t.state = 'mined') > 1 OR (count(*) FILTER (WHERE t.state IN ('pending', 'stuck')) = 0
        AND count(*) FILTER (WHERE t.state = 'mined') <> CASE f.state WHEN 'sent' THEN 1 ELSE 0 END)
      UNION ALL
      SELECT id || ' is stuck' FROM refunds WHERE state = 'stuck'`,
  },
  {
    name: 'every transaction moves what it is for',
    checked: `SELECT count(*) || ' transactions' FROM chain_transactions`,
    faults: `
      SELECT 'transaction ' || t.id || ' for ' || t.ref || ' moves ' || t.amount || ' of ' || t.token || ' from ' ||
        t.transfer_from || ' to ' || t.transfer_to
      FROM chain_transactions t CROSS JOIN chain_identity i LEFT JOIN (
        SELECT 'payment' AS purpose, id, token, amount, payer AS wallet, true AS is_in FROM payments
        UNION ALL SELECT 'deposit', id, token, amount, wallet, true FROM deposits WHERE source = 'authorization'
        UNION ALL SELECT 'refund', id, token, amount, payer, false FROM refunds
        UNION ALL SELECT 'withdrawal', id, token, amount, wallet, false FROM withdrawals
        UNION ALL SELECT 'settlement', number::text, NULL, NULL, NULL, NULL FROM settlement_batches
        UNION ALL SELECT 'lock_mint', id, NULL, NULL, NULL, NULL FROM lock_withdrawals
        UNION ALL SELECT purpose, number::text, token, amount, receiver, false FROM revenue_payouts
        UNION ALL SELECT CASE purpose WHEN 'reward' THEN 'reward_root' ELSE 'vault_vest' END, number::text, NULL, NULL, NULL,
          NULL FROM revenue_payouts
      ) r ON r.purpose = t.purpose AND r.id = t.subject_id
      WHERE r.id IS NULL OR (t.purpose IN ('settlement', 'reward_root', 'vault_vest', 'lock_mint')) <> (t.token IS NULL) OR t.token <> r.token OR t.amount <> r.amount
        OR t.transfer_from <> CASE WHEN r.is_in THEN r.wallet ELSE i.treasury END
        OR t.transfer_to <> CASE WHEN r.is_in THEN i.treasury ELSE r.wallet END`,
  },
  {
    name: 'every nonce went to its own transaction',
    checked: `SELECT count(*) || ' keys' FROM chain_senders`,
    faults: `SELECT 'transaction ' || id || ' of ' || sender || ' lost its nonce ' || nonce || ' to another program'
             FROM chain_transactions t WHERE state = 'displaced' AND sender IS NOT NULL
               AND NOT EXISTS (SELECT FROM activity a WHERE a.account_id = '' AND a.type = 'transaction.released' AND a.target = t.id::text)
             UNION ALL
             SELECT 'transaction ' || id || ' for ' || purpose || ' ' || ref || ' of ' || sender || ' is stuck: its nonce ' || nonce ||
               ' was used, and nothing shows whether it was made'
             FROM chain_transactions WHERE state = 'stuck'`,
  },
]
