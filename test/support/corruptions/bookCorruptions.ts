import { accountKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import type { Corrupted, Corruption } from './corruption.ts'

const KINDS = 'every transfer is of a known kind, between its accounts'
const SOURCES = 'every transfer has what it was booked for'
const GRANTS = 'every grant with credits left is open and expires when it was said'
const CAPS = 'caps of keys and their revocation are those of the audit trail'
const SHEETS = 'price sheets are as they were published'

const transfer = (kind: string, debit: string, credit: string, ref = 'forged'): string =>
  `INSERT INTO transfers (ref, kind, debit, credit, units) VALUES ('${ref}', '${kind}', '${debit}', '${credit}', 1000);
   UPDATE ledger_accounts SET balance = balance + CASE id WHEN '${debit}' THEN -1000 ELSE 1000 END WHERE id IN ('${debit}', '${credit}')`
const coin = ({ accountId }: Corrupted): string => `coin:${accountId}`

/** A ledger account of the gateway that has nothing is to give something. */
const overdrawn = (id: string): string => `UPDATE ledger_accounts SET may_go_negative = true WHERE id = '${id}'`

/** Of how far the endings of proxy processes are booked. */
export const POSITION_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a position of a proxy that is too high',
    sql: ({ proxyOwner }) => `UPDATE owner_positions SET seq = seq + 5 WHERE owner = '${proxyOwner}'`,
    found: 'no more endings are booked than were delivered',
  },
  {
    name: 'a position of a proxy that is gone',
    sql: ({ proxyOwner }) => `DELETE FROM owner_positions WHERE owner = '${proxyOwner}'`,
    found: 'every ending that was delivered is booked or waits',
  },
  {
    name: 'a request that was open at a crash and has no receipt',
    sql: () => `INSERT INTO proxy_owners (owner, begun, replayed_at) VALUES ('own_gone', 3, now());
      INSERT INTO owner_positions (owner, shard, seq) VALUES ('own_gone', 0, 1), ('own_gone', 1, 1)`,
    found: 'every request of a process that is gone has ended',
  },
]

/** Of transfers beside charges, balances, grants, keys and price sheets. */
export const BOOK_CORRUPTIONS: readonly Corruption[] = [
  { name: 'a transfer of an unknown kind', sql: () => transfer('gift', 'house', 'revenue'), found: KINDS },
  {
    name: 'a known kind between other accounts',
    sql: () => transfer('deposit', 'payments_in', 'revenue'),
    found: KINDS,
  },
  {
    name: 'a transfer out of payments to the revenue',
    sql: () => transfer('test_revenue', 'payments_in', 'revenue'),
    found: KINDS,
  },
  {
    name: 'a payment without its entry of the audit trail',
    sql: (book) => transfer('payment', 'payments_in', coin(book)),
    found: SOURCES,
  },
  {
    name: 'a payment without its entry of the audit trail, which admission knows',
    sql: (book) => transfer('payment', 'payments_in', coin(book)),
    outside: ({ redis, accountId }) => redis.hincrby(accountKey(shardOf(accountId), accountId), 'coin', 1_000),
    found: SOURCES,
  },
  {
    name: 'a transfer that moved more',
    sql: () => `UPDATE transfers SET units = units + 1000 WHERE kind = 'link'`,
    found: 'balances equal their postings',
  },
  {
    name: 'two balances of the gateway',
    sql: () => `UPDATE ledger_accounts SET balance = balance + CASE id WHEN 'house' THEN 5 ELSE -5 END
      WHERE id IN ('house', 'payments_in')`,
    found: 'balances equal their postings',
  },
  { name: 'a deleted debit', sql: () => 'DELETE FROM debits', found: SOURCES },
  {
    name: 'a usage by day that is gone',
    sql: () => 'DELETE FROM usage_days',
    found: 'usage by day equals the receipts',
  },
  {
    name: 'a usage by outcome that is gone',
    sql: () => `DELETE FROM usage_outcomes WHERE outcome = 'ok'`,
    found: 'usage by provider and outcome equals the receipts',
  },
  {
    name: 'a usage that is of another provider',
    sql: () => `UPDATE usage_outcomes SET provider = provider || '2'`,
    found: 'usage by provider and outcome equals the receipts',
  },
  {
    name: 'a usage by hour that is gone',
    sql: () => `DELETE FROM usage_hours WHERE outcome = 'ok'`,
    found: 'usage by hour equals the receipts',
  },
  {
    name: 'reasoning tokens of an hour one higher',
    sql: () => 'UPDATE usage_hours SET reasoning_tokens = reasoning_tokens + 1',
    found: 'usage by hour equals the receipts',
  },
  {
    name: 'a usage by tag that is gone',
    sql: () => `DELETE FROM usage_tags WHERE kind = 'tag'`,
    found: 'usage by tag and user equals the receipts',
  },
  {
    name: 'a usage by user one higher',
    sql: () => `UPDATE usage_tags SET requests = requests + 1 WHERE kind = 'user' AND hours = 24`,
    found: 'usage by tag and user equals the receipts',
  },
  {
    name: 'a rollup of usage that no days are behind',
    sql: ({ accountId }) =>
      `INSERT INTO usage_rollups VALUES ('${accountId}', 'month', 'key', 1, 'key_x', '', 1, 1, 1, 1, 1)`,
    found: 'usage rollups equal the usage by day',
  },
  {
    name: 'coin of nobody that an agent is said to have got',
    sql: (book) => transfer('agent_pay', `coin:${book.otherId}`, coin(book)),
    found: SOURCES,
  },
  {
    name: 'lock tokens without a fill',
    sql: () => transfer('lock_tokens', 'lock_escrow:lock_x', 'lock:lock_x:acct_x'),
    found: SOURCES,
  },
  {
    name: 'a reward that no period has',
    sql: (book) => `${overdrawn('rewards')}; ${transfer('reward_credit', 'rewards', coin(book), '1:0xab')}`,
    found: SOURCES,
  },
  {
    name: 'a link that nobody claimed',
    sql: (book) => `${overdrawn('escrow_coin')}; ${transfer('link_claim', 'escrow_coin', coin(book), 'lnk_x')}`,
    found: SOURCES,
  },
  {
    name: 'a grant of other units',
    sql: () => `UPDATE transfers SET units = units + 1 WHERE kind = 'grant'`,
    found: SOURCES,
  },
  {
    name: 'a balance one higher',
    sql: (book) => `UPDATE ledger_accounts SET balance = balance + 1 WHERE id = '${coin(book)}'`,
    found: 'balances equal their postings',
  },
  {
    name: 'an account that may be overdrawn',
    sql: (book) => `UPDATE ledger_accounts SET may_go_negative = true WHERE id = '${coin(book)}'`,
    found: 'ledger accounts of customers are those of their owners',
  },
  {
    name: 'a customer whom admission does not know',
    sql: ({ otherId }) => `DELETE FROM admission_accounts WHERE account_id = '${otherId}'`,
    found: 'ledger accounts of customers are those of their owners',
  },
  { name: 'a grant that never expires', sql: () => 'DELETE FROM open_grants', found: GRANTS },
  {
    name: 'a grant that expires later',
    sql: () => 'UPDATE grants SET expires_at_ms = expires_at_ms + 1000',
    found: GRANTS,
  },
  {
    name: 'a grant that expires later everywhere in the book',
    sql: () =>
      'UPDATE grants SET expires_at_ms = expires_at_ms + 1000; UPDATE open_grants SET expires_at_ms = expires_at_ms + 1000',
    found: 'admission balances equal the book',
  },
  {
    name: 'a cap of a key',
    sql: ({ keyId }) => `UPDATE api_keys SET cap_day_units = 5 WHERE id = '${keyId}'`,
    found: CAPS,
  },
  {
    name: 'the budget of a key',
    sql: ({ keyId }) => `UPDATE api_keys SET budget_units = NULL WHERE id = '${keyId}'`,
    found: CAPS,
  },
  {
    name: 'a revoked key that goes on',
    sql: ({ otherKeyId }) => `UPDATE api_keys SET revoked_at = NULL WHERE id = '${otherKeyId}'`,
    found: CAPS,
  },
  {
    name: 'a price sheet with other prices',
    sql: () => `UPDATE price_sheets SET sheet = replace(sheet, '"input":"9"', '"input":"8"')`,
    found: SHEETS,
  },
  {
    name: 'a price sheet that is cheaper than what was charged by it',
    sql: () => `UPDATE price_sheets SET content_hash = '', sheet = replace(sheet, '"9"', '"0.000001"')`,
    found: 'no request at the standard rate exceeds its price sheet or was served elsewhere',
  },
  { name: 'a price sheet that is gone', sql: () => 'DELETE FROM price_sheets WHERE version = 1', found: SHEETS },
  {
    name: 'a usage of a key',
    sql: () => 'UPDATE key_usage SET units = units + 1',
    found: 'key usage equals the receipts and debits',
  },
  {
    name: 'a debit that no transfer has',
    sql: ({ accountId }) =>
      `INSERT INTO debits (id, account_id, key_id, units, taken_at_ms, voided) VALUES ('pay_x', '${accountId}', '', 5, 1, false)`,
    found: 'every debit is booked once, or voided',
  },
]
