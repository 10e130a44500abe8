import type { Limits } from '../limits.ts'
import type { Client } from '../runtime/db/pool.ts'
import { batchInvariants } from './batchChecks.ts'
import { type AuditCheck, Faults, type Invariant } from './check.ts'
import { CREDIT_INVARIANTS } from './creditChecks.ts'
import { escrowBy } from './escrow.ts'
import { KEY_TRANSFER_INVARIANTS } from './keyTransferChecks.ts'
import { MOVEMENT_INVARIANTS } from './movementChecks.ts'
import { PAYMENT_INVARIANTS } from './paymentChecks.ts'
import { REFERRAL_INVARIANTS } from './referralChecks.ts'

const FAULTS_READ_MAX = 1_000

const INVARIANTS: readonly Invariant[] = [
  {
    name: 'postings sum to zero',
    checked: `SELECT count(*) || ' transfers' FROM transfers`,
    faults: `SELECT 'the sum of ' || currency || ' is ' || sum(amount) FROM postings GROUP BY currency HAVING sum(amount) <> 0`,
  },
  {
    name: 'balances equal their postings',
    checked: `SELECT count(*) || ' ledger accounts' FROM ledger_accounts`,
    faults: `
      SELECT coalesce(a.id, p.account) || ' has ' || coalesce(a.balance::text, 'no account') || ', its postings ' ||
        coalesce(p.amount, 0)
      FROM ledger_accounts a FULL JOIN
        (SELECT account, sum(amount) AS amount FROM postings WHERE account <> 'exchange' GROUP BY account) p ON p.account = a.id
      WHERE a.balance IS DISTINCT FROM coalesce(p.amount, 0)`,
  },
  {
    name: 'no customer balance is negative',
    checked: `SELECT count(*) || ' customer accounts' FROM ledger_accounts WHERE kind <> 'system'`,
    faults: `SELECT id || ' has ' || balance FROM ledger_accounts WHERE kind <> 'system' AND balance < 0`,
  },
  {
    name: 'every charge is booked in full',
    checked: `SELECT count(*) || ' receipts' FROM receipts`,
    faults: `
      SELECT coalesce(r.request_id, t.ref) || ' was charged ' || coalesce(r.charge_units::text, 'without a receipt') ||
        ', its transfers are ' || coalesce(t.units, 0)
      FROM receipts r FULL JOIN (
        SELECT ref, sum(units) AS units FROM transfers c WHERE kind = 'charge' AND NOT EXISTS
          (SELECT FROM receipt_archives a WHERE c.ref >= a.from_id AND c.ref < a.until_id)
        GROUP BY ref
      ) t ON t.ref = r.request_id
      WHERE r.charge_units IS DISTINCT FROM coalesce(t.units, 0)
      UNION ALL
      SELECT 'receipts of ' || a.month || ' that were put away charged ' || a.charge_units || ', their transfers are ' ||
        coalesce(t.units, 0)
      FROM receipt_archives a LEFT JOIN LATERAL (
        SELECT sum(units) AS units FROM transfers WHERE kind = 'charge' AND ref >= a.from_id AND ref < a.until_id
      ) t ON true
      WHERE a.charge_units <> coalesce(t.units, 0)`,
  },
  {
    name: 'months that were put away keep their leaves',
    checked: `SELECT count(*) || ' months of ' || coalesce(sum(receipts), 0) || ' receipts' FROM receipt_archives`,
    faults: `
      SELECT a.month || ' had ' || a.receipts || ' receipts, there are leaves of ' || coalesce(l.leaves, 0)
      FROM receipt_archives a LEFT JOIN
        (SELECT month, sum(length(hashes) / 32) AS leaves FROM archived_leaves GROUP BY month) l USING (month)
      WHERE a.receipts <> coalesce(l.leaves, 0)`,
  },
  {
    name: 'every request ended once',
    checked: `SELECT count(*) || ' receipts, ' || count(*) FILTER (WHERE voided) || ' of them voided' FROM receipts`,
    faults: `
      SELECT request_id || ' has ' || count(*) || ' receipts' FROM receipts GROUP BY request_id HAVING count(*) > 1
      UNION ALL
      SELECT request_id || ' is voided and ' || status FROM receipts WHERE voided AND status IN ('ok', 'partial')
      UNION ALL
      SELECT request_id || ' is charged and ' || status FROM receipts WHERE charge_units > 0
        AND status NOT IN ('ok', 'partial')`,
  },
  {
    name: 'no charge exceeds its hold',
    checked: `SELECT count(*) || ' receipts' FROM receipts`,
    faults: `SELECT request_id || ' was charged ' || charge_units || ' of ' || hold_units
             FROM receipts WHERE charge_units > hold_units`,
  },
  {
    name: 'key usage equals the receipts and debits',
    checked: `SELECT count(*) || ' hours of keys' FROM key_usage`,
    faults: `
      SELECT coalesce(u.key_id, r.key_id) || ' in hour ' || coalesce(u.hour, r.hour) || ': ' ||
        coalesce(u.units, 0) || ' in ' || coalesce(u.requests, 0) || ' requests, its receipts and debits ' ||
        coalesce(r.units, 0) || ' in ' || coalesce(r.requests, 0)
      FROM key_usage u FULL JOIN (
        SELECT key_id, hour, sum(units) AS units, sum(requests) AS requests FROM (
          SELECT key_id, (held_at_ms / 3600000)::integer AS hour, sum(charge_units) AS units, count(*) AS requests
          FROM receipts GROUP BY 1, 2
          UNION ALL
          SELECT key_id, hour, units, requests FROM archived_key_usage
          UNION ALL
          SELECT key_id, (taken_at_ms / 3600000)::integer, sum(units), 0
          FROM debits WHERE key_id <> '' AND NOT voided GROUP BY 1, 2
        ) AS spent GROUP BY 1, 2
      ) r ON r.key_id = u.key_id AND r.hour = u.hour
      WHERE (u.units, u.requests) IS DISTINCT FROM (r.units, r.requests)`,
  },
  {
    name: 'usage by day equals the receipts',
    checked: `SELECT count(*) || ' days of keys and models' FROM usage_days`,
    faults: `
      SELECT coalesce(u.key_id, r.key_id) || ' with ' || coalesce(u.model, r.model) || ' on day ' ||
        coalesce(u.day, r.day) || ': ' || coalesce(u.units, 0) || ' in ' || coalesce(u.requests, 0) ||
        ' requests, its receipts ' || coalesce(r.units, 0) || ' in ' || coalesce(r.requests, 0)
      FROM usage_days u FULL JOIN (
        SELECT account_id, day, key_id, model, sum(requests) AS requests, sum(units) AS units, sum(input) AS input,
          sum(cached) AS cached, sum(output) AS output
        FROM (
          SELECT account_id, (held_at_ms / 86400000)::integer AS day, key_id, model, count(*) AS requests,
            sum(charge_units) AS units,
            sum(input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens) AS input,
            sum(cached_input_tokens) AS cached, sum(output_tokens) AS output
          FROM receipts GROUP BY 1, 2, 3, 4
          UNION ALL
          SELECT account_id, day, key_id, model, requests, units, input_tokens, cached_input_tokens, output_tokens
          FROM archived_usage_days
        ) AS used GROUP BY 1, 2, 3, 4
      ) r ON r.account_id = u.account_id AND r.day = u.day AND r.key_id = u.key_id AND r.model = u.model
      WHERE (u.units, u.requests, u.input_tokens, u.cached_input_tokens, u.output_tokens)
        IS DISTINCT FROM (r.units, r.requests, r.input, r.cached, r.output)`,
  },
  {
    name: 'every debit is booked once, or voided',
    checked: `SELECT count(*) || ' debits, ' || count(*) FILTER (WHERE voided) || ' of them voided' FROM debits`,
    faults: `
      SELECT d.id || (CASE WHEN d.voided THEN ' is voided' ELSE ' took ' || d.units END) ||
        ', its transfers are ' || coalesce(sum(t.units), 0)
      FROM debits d LEFT JOIN transfers t ON t.ref = d.id AND t.debit = 'coin:' || d.account_id
      GROUP BY d.id HAVING coalesce(sum(t.units), 0) <> CASE WHEN d.voided THEN 0 ELSE d.units END`,
  },
  {
    name: 'escrow holds what open links hold',
    checked: `SELECT count(*) || ' links, ' || count(*) FILTER (WHERE status = 'open') || ' of them open' FROM links`,
    faults: `
      SELECT coalesce(l.id, e.id) || ' is ' || coalesce(l.status, 'no link') || ' with ' || coalesce(l.coin_nanos, 0) ||
        ' nanos, in escrow are ' || coalesce(e.nanos, 0) || ' and ' || coalesce(e.units, 0) || ' units'
      FROM links l FULL JOIN (${escrowBy('lnk_', 'link', 'link_claim', 'link_cancel', 'link_expiry')}) e ON e.id = l.id
      WHERE coalesce(e.units, 0) <> 0
        OR coalesce(e.nanos, 0) <> CASE WHEN l.status = 'open' THEN l.coin_nanos ELSE 0 END`,
  },
  {
    name: 'no settlement was rejected',
    checked: `SELECT 'none'`,
    faults: `SELECT 'shard ' || shard || ' entry ' || entry_id || ': ' || reason FROM settlement_rejects`,
  },
]

const allInvariants = (limits: Limits): readonly Invariant[] => [
  ...INVARIANTS,
  ...PAYMENT_INVARIANTS,
  ...CREDIT_INVARIANTS,
  ...MOVEMENT_INVARIANTS,
  ...KEY_TRANSFER_INVARIANTS,
  ...REFERRAL_INVARIANTS,
  ...batchInvariants(limits),
]

/** Checks the invariants of the book inside one transaction, so that all of them see the same moment. */
export async function checkBook(client: Client, limits: Limits): Promise<AuditCheck[]> {
  const checks: AuditCheck[] = []
  for (const { name, checked, faults: query } of allInvariants(limits)) {
    const faults = new Faults()
    const found = await client.query({ text: `${query} LIMIT ${FAULTS_READ_MAX}`, rowMode: 'array' })
    for (const [fault] of found.rows as unknown[][]) faults.add(String(fault))
    const count = await client.query({ text: checked, rowMode: 'array' })
    checks.push(faults.check(name, String((count.rows as unknown[][])[0]?.[0])))
  }
  return checks
}
