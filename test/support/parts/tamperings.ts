import { type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'

/** A receipt at a place of the log which says something else than the log has of it. */
const OTHER_LEAF = [
  'usage log leaves equal their receipts',
  'usage log nodes equal their leaves',
  'usage log heads equal the logs',
]

const requestAt = (position: number): string => `(SELECT request_id FROM receipts WHERE position = ${position})`

/** What is done to the database, how it is undone, and the checks that have to find it. */
export interface Tampering {
  readonly name: string
  readonly change: string
  readonly undo: string
  readonly found: string[]
}

/** @param at places of the log: a receipt that was charged, one that failed, and the last */
export const tamperingsAt = (at: { charged: number; failed: number; last: number }): readonly Tampering[] => [
  {
    name: 'a balance changed by hand',
    change: `UPDATE ledger_accounts SET balance = balance + 5 WHERE kind = 'coin'`,
    undo: `UPDATE ledger_accounts SET balance = balance - 5 WHERE kind = 'coin'`,
    found: ['balances equal their postings', 'admission balances equal the book'],
  },
  {
    name: 'a charge made smaller',
    change: `UPDATE transfers SET units = units - 1 WHERE ref = ${requestAt(at.charged)}`,
    undo: `UPDATE transfers SET units = units + 1 WHERE ref = ${requestAt(at.charged)}`,
    found: ['balances equal their postings', 'every charge is booked in full'],
  },
  {
    name: 'a charge without a receipt',
    change: `INSERT INTO transfers (ref, kind, debit, credit, units, at) SELECT 'req_stray', kind, debit, credit, units, at
      FROM transfers WHERE kind = 'charge' AND ref = ${requestAt(at.charged)}`,
    undo: `DELETE FROM transfers WHERE ref = 'req_stray'`,
    found: ['balances equal their postings', 'every charge is booked in full'],
  },
  {
    name: 'a receipt that was taken away',
    change: `CREATE TABLE taken AS SELECT * FROM receipts WHERE position = ${at.last};
      DELETE FROM receipts WHERE position = ${at.last}`,
    undo: 'INSERT INTO receipts SELECT * FROM taken; DROP TABLE taken',
    found: [
      'every charge is booked in full',
      'key usage equals the receipts and debits',
      'usage by day equals the receipts',
      'usage log heads equal the logs',
    ],
  },
  {
    name: 'a receipt that shows another charge',
    change: `UPDATE receipts SET charge_units = charge_units - 1 WHERE request_id = ${requestAt(at.charged)}`,
    undo: `UPDATE receipts SET charge_units = charge_units + 1 WHERE request_id = ${requestAt(at.charged)}`,
    found: [
      'every charge is booked in full',
      'key usage equals the receipts and debits',
      'usage by day equals the receipts',
      ...OTHER_LEAF,
    ],
  },
  {
    name: 'a receipt that names rates which are not sold',
    change: `UPDATE receipts SET rate = 'batch' WHERE position = ${at.charged}`,
    undo: `UPDATE receipts SET rate = 'standard' WHERE position = ${at.charged}`,
    found: ['every receipt names rates of its price sheet', ...OTHER_LEAF],
  },
  {
    name: 'a receipt that names a size which is not sold',
    change: `UPDATE receipts SET size = '512x512' WHERE position = ${at.charged}`,
    undo: `UPDATE receipts SET size = '' WHERE position = ${at.charged}`,
    found: ['every receipt names rates of its price sheet', ...OTHER_LEAF],
  },
  {
    // 15 tokens at 0.001 USD per million are 15 units; a batch rate above that changes nothing of it.
    name: 'a batch that was charged more than its standard rates',
    change: `
      INSERT INTO price_sheets (version, published_at, valid_until, content_hash, sheet) VALUES
        (1, now(), now() + interval '1 day', '', '{"models":[{"id":"acme/chat-small","price":
          {"input":"0.001","output":"0.001","batch_input":"1","batch_output":"1"}}]}');
      UPDATE receipts SET rate = 'batch' WHERE position = ${at.charged}`,
    undo: `DELETE FROM price_sheets WHERE version = 1; UPDATE receipts SET rate = 'standard' WHERE position = ${at.charged}`,
    found: [
      'no request at the standard rate exceeds its price sheet or was served elsewhere',
      'no batch or private request exceeds its rates, and no batch the standard ones',
      ...OTHER_LEAF,
    ],
  },
  {
    name: 'a receipt that is both voided and ok',
    change: `UPDATE receipts SET status = 'ok' WHERE position = ${at.failed}`,
    undo: `UPDATE receipts SET status = 'failed' WHERE position = ${at.failed}`,
    found: ['every request ended once', ...OTHER_LEAF],
  },
  {
    name: 'a gap in the usage log',
    change: `UPDATE receipts SET position = 1000 WHERE position = ${at.last}`,
    undo: `UPDATE receipts SET position = ${at.last} WHERE position = 1000`,
    found: ['usage log positions have no gap'],
  },
  {
    name: 'a stored node changed',
    change: `UPDATE usage_log_nodes SET hash = sha256(hash)`,
    undo: '',
    found: ['usage log nodes equal their leaves'],
  },
  {
    name: 'a head that counts one more',
    change: 'UPDATE usage_log_heads SET size = size + 1 WHERE size > 0',
    undo: 'UPDATE usage_log_heads SET size = size - 1 WHERE size > 0',
    found: ['usage log heads equal the logs'],
  },
  {
    name: 'key usage changed',
    change: 'UPDATE key_usage SET units = units + 1',
    undo: 'UPDATE key_usage SET units = units - 1',
    found: ['key usage equals the receipts and debits', 'admission key counters equal the book'],
  },
  {
    name: 'usage by day changed',
    change: 'UPDATE usage_days SET output_tokens = output_tokens + 1',
    undo: 'UPDATE usage_days SET output_tokens = output_tokens - 1',
    found: ['usage by day equals the receipts'],
  },
  {
    name: 'statistics changed',
    change: `INSERT INTO public_statistics SELECT 1, 'm', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, '[]', '[]'`,
    undo: 'DELETE FROM public_statistics',
    found: ['statistics equal the receipts'],
  },
  {
    name: 'receipts left out of the statistics',
    change: 'UPDATE statistics_cursors c SET position = size FROM usage_log_heads h WHERE h.log = c.log',
    undo: 'UPDATE statistics_cursors SET position = 0',
    found: ['statistics equal the receipts'],
  },
  {
    name: 'a reject',
    change: `INSERT INTO settlement_rejects (shard, entry_id, reason, fields) VALUES (0, '1-1', 'test', '[]')`,
    undo: 'DELETE FROM settlement_rejects',
    found: ['no settlement was rejected'],
  },
]

/** Runs SQL with all triggers off, as someone who tampers with the files would. */
async function tamper(pool: Pool, sql: string): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql)
  })
}

/** Tampers, audits and undoes it. @returns the names of the checks that failed */
export async function findingsOf(
  pool: Pool,
  { change, undo }: Tampering,
  failedChecks: () => Promise<string[]>,
): Promise<string[]> {
  await tamper(pool, 'CREATE TABLE kept_nodes AS SELECT * FROM usage_log_nodes')
  await tamper(pool, change)
  const failed = await failedChecks()
  if (undo !== '') await tamper(pool, undo)
  await tamper(
    pool,
    `UPDATE usage_log_nodes n SET hash = k.hash FROM kept_nodes k
     WHERE k.log = n.log AND k.level = n.level AND k.index = n.index AND k.hash <> n.hash`,
  )
  await tamper(pool, 'DROP TABLE kept_nodes')
  return failed
}
