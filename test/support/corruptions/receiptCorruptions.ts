import { accountKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import type { Corrupted, Corruption } from './corruption.ts'

const BOOKED = 'every charge is booked in full'
const PRICED = 'no request at the standard rate exceeds its price sheet or was served elsewhere'
const LEAVES = 'usage log leaves equal their receipts'
const LAST = `(SELECT max(request_id) FROM receipts WHERE charge_units > 0)`
const set = (changes: string) => (): string =>
  `UPDATE receipts SET ${changes} WHERE request_id = (SELECT min(request_id) FROM receipts WHERE charge_units > 0 AND split LIKE 'coin=%')`

/** Moves charges of the account to the other one, with the balances. */
const otherDebit = ({ accountId, otherId }: Corrupted): string => `
  UPDATE ledger_accounts SET balance = balance + (SELECT sum(coalesce(coin_nanos, units)) FROM transfers
    WHERE kind = 'charge' AND debit = 'coin:${accountId}') * CASE id WHEN 'coin:${accountId}' THEN 1 ELSE -1 END
    WHERE id IN ('coin:${accountId}', 'coin:${otherId}');
  UPDATE transfers SET debit = 'coin:${otherId}' WHERE kind = 'charge' AND debit = 'coin:${accountId}'`

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
  { name: 'another start', sql: set('held_at_ms = held_at_ms + 1'), found: LEAVES },
  { name: 'another leaf', sql: set('leaf_hash = sha256(leaf_hash)'), found: LEAVES },
  { name: 'a tag that was added', sql: set(`tags = 'team=search', tags_salt = 'salt'`), found: LEAVES },
  {
    name: 'tags with their hash in a leaf that has none',
    sql: set(`tags = 'team=search', tags_salt = 'salt', tags_hash = encode(sha256('salt\n\nteam=search\n'), 'hex')`),
    found: LEAVES,
  },
  {
    name: 'another user',
    sql: () => `UPDATE receipts SET end_user = end_user || '1' WHERE end_user <> ''`,
    found: LEAVES,
  },
  {
    name: 'another tag',
    sql: () => `UPDATE receipts SET tags = 'team=other' WHERE tags <> ''`,
    found: LEAVES,
  },
  { name: 'a sheet that was never published', sql: set('sheet_version = 99'), found: PRICED },
  {
    name: 'a charge of another customer, with the balances',
    sql: otherDebit,
    found: BOOKED,
  },
  {
    name: 'a charge of a grant of another account',
    sql: ({ otherId, grantId }) => `UPDATE grants SET account_id = '${otherId}' WHERE id = '${grantId}'`,
    found: BOOKED,
  },
  {
    name: 'a charge of another customer, with the balances and admission',
    sql: otherDebit,
    async outside({ pool, redis, accountId, otherId }) {
      for (const id of [accountId, otherId]) {
        const found = await pool.query<{ balance: number }>(
          `SELECT balance FROM ledger_accounts WHERE id = 'coin:${id}'`,
        )
        await redis.hset(accountKey(shardOf(id), id), 'coin', String(found.rows[0]?.balance))
      }
    },
    found: BOOKED,
  },
  {
    name: 'a charge of another customer alone',
    sql: ({ accountId, otherId }) =>
      `UPDATE transfers SET debit = 'coin:${otherId}' WHERE kind = 'charge' AND debit = 'coin:${accountId}'`,
    found: 'balances equal their postings',
  },
  {
    name: 'a charge that moves one unit more',
    sql: () => `UPDATE transfers SET units = units + 1 WHERE kind = 'charge'`,
    found: BOOKED,
  },
  {
    name: 'another account alone',
    sql: ({ otherId }) => set(`account_id = '${otherId}'`)(),
    found: 'usage by day equals the receipts',
  },
  {
    name: 'a receipt deleted with its charge, with the balances',
    sql: () => `
      UPDATE ledger_accounts l SET balance = l.balance + CASE l.id WHEN t.debit THEN 1 ELSE -1 END * coalesce(t.coin_nanos, t.units)
        FROM transfers t WHERE t.ref = ${LAST} AND l.id IN (t.debit, t.credit);
      DELETE FROM transfers WHERE ref = ${LAST}; DELETE FROM receipts WHERE request_id = ${LAST}`,
    found: 'usage log heads equal the logs',
  },
  {
    name: 'two receipts in another order in their log',
    sql: ({ accountId }) => `
      CREATE TEMP TABLE two ON COMMIT DROP AS SELECT request_id, sum(position) OVER () - position AS place FROM (
        SELECT request_id, position FROM receipts WHERE account_id = '${accountId}' ORDER BY position LIMIT 2) AS first;
      UPDATE receipts SET position = -1 - position WHERE request_id IN (SELECT request_id FROM two);
      UPDATE receipts r SET position = two.place FROM two WHERE two.request_id = r.request_id`,
    found: 'usage log nodes equal their leaves',
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
