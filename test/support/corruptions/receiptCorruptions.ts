import type { Corruption } from './corruption.ts'

const BOOKED = 'every charge is booked in full'
const PRICED = 'no request at the standard rate exceeds its price sheet or was served elsewhere'
const LEAVES = 'usage log leaves equal their receipts'
const set = (changes: string) => (): string =>
  `UPDATE receipts SET ${changes} WHERE request_id = (SELECT min(request_id) FROM receipts WHERE charge_units > 0 AND split LIKE 'coin=%')`

/** Of receipts and of the transfers of their charges. */
export const RECEIPT_CORRUPTIONS: readonly Corruption[] = [
  { name: 'a charge one higher', sql: set('charge_units = charge_units + 1'), found: BOOKED },
  { name: 'another model', sql: set(`model = 'acme/other'`), found: PRICED },
  { name: 'another provider', sql: set(`provider = 'evil'`), found: PRICED },
  { name: 'another split', sql: set(`split = 'grt_none=' || charge_units`), found: BOOKED },
  { name: 'another amount of coin in the split', sql: set(`split = split || ':1'`), found: BOOKED },
  { name: 'another key', sql: set(`key_id = 'key_other'`), found: 'key usage equals the receipts and debits' },
  {
    name: 'another account, with its usage by day',
    sql: ({ accountId, otherId }) => `UPDATE receipts SET account_id = '${otherId}' WHERE account_id = '${accountId}';
      UPDATE usage_days SET account_id = '${otherId}' WHERE account_id = '${accountId}'`,
    found: BOOKED,
  },
  {
    name: 'a key that is used by another account, with its usage by day',
    sql: ({ accountId, otherId }) => `UPDATE receipts SET account_id = '${otherId}' WHERE account_id = '${accountId}';
      UPDATE usage_days SET account_id = '${otherId}' WHERE account_id = '${accountId}'`,
    found: 'keys are used by their own accounts alone',
  },
  {
    name: 'a deleted receipt',
    sql: () => 'DELETE FROM receipts WHERE request_id = (SELECT max(request_id) FROM receipts WHERE charge_units > 0)',
    found: BOOKED,
  },
  { name: 'another duration', sql: set('duration_ms = duration_ms + 1'), found: LEAVES },
  { name: 'another leaf', sql: set('leaf_hash = sha256(leaf_hash)'), found: LEAVES },
  { name: 'a sheet that was never published', sql: set('sheet_version = 99'), found: PRICED },
  {
    name: 'a charge of another customer, with the balances',
    sql: ({ accountId, otherId }) => `
      UPDATE transfers SET debit = 'coin:${otherId}' WHERE kind = 'charge' AND debit = 'coin:${accountId}';
      UPDATE ledger_accounts l SET balance = balance + d.amount FROM (
        SELECT 'coin:${accountId}' AS id, sum(units) AS amount FROM transfers WHERE debit = 'coin:${otherId}' AND kind = 'charge'
        UNION ALL SELECT 'coin:${otherId}', -sum(units) FROM transfers WHERE debit = 'coin:${otherId}' AND kind = 'charge') d
      WHERE l.id = d.id`,
    found: BOOKED,
  },
  {
    name: 'a charge of a grant of another account',
    sql: ({ otherId, grantId }) => `UPDATE grants SET account_id = '${otherId}' WHERE id = '${grantId}'`,
    found: BOOKED,
  },
  {
    name: 'a charge credited to somebody else',
    sql: () => `UPDATE transfers SET credit = 'house' WHERE kind = 'charge'`,
    found: BOOKED,
  },
  {
    name: 'a charge of an account of the gateway',
    sql: ({ accountId }) =>
      `UPDATE transfers SET debit = 'provider_cost' WHERE kind = 'charge' AND debit = 'coin:${accountId}'`,
    found: BOOKED,
  },
  {
    name: 'amounts beyond bigint',
    sql: () => `UPDATE usage_days SET units = 9223372036854775807`,
    found: 'usage by day equals the receipts',
  },
]
