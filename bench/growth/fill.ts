import { newId } from '../../contract/wire/ids.ts'
import { SHARD_COUNT, shardOf } from '../../contract/wire/redisKeys.ts'
import { idBound, monthStartMs } from '../../control/book/partitions/idTime.ts'
import { HEADS_LOG } from '../../control/book/usagelog/head.ts'
import { peaksOf } from '../../control/book/usagelog/merkle.ts'
import { intArray, textArray } from '../../control/runtime/db/arrays.ts'
import { type Client, type Pool, withTransaction } from '../../control/runtime/db/pool.ts'

/** Receipts of an account, independent of the size of the book: books grow by customers. */
const PER_ACCOUNT = 1_000
/** Most receipts of one account in an hour. */
const PER_VISIT = 10
/** Months that the receipts are of, the present one among them. */
const MONTHS = 12
const CHARGE_UNITS = 100
const COIN_NANOS = 1_000_000_000
/** Receipts of one statement. */
const CHUNK = 200_000
const HASH_BYTES = 32

export interface GrowthAccount {
  readonly accountId: string
  readonly keyId: string
  readonly log: number
}

/**
 * Fills an empty book with receipts of twelve months as booking would leave it: with charges, usage, nodes and heads of the
 * logs. Hashes are made up, since their values do not affect the time to read them.
 * @param pool whose statements may take an hour
 * @param count of receipts, rounded up to whole accounts
 */
export async function fillBook(pool: Pool, count: number, say: (text: string) => void): Promise<GrowthAccount[]> {
  await addPastMonths(pool)
  const accounts = Array.from({ length: Math.ceil(count / PER_ACCOUNT) }, (): GrowthAccount => {
    const accountId = newId('acct')
    return { accountId, keyId: newId('key'), log: shardOf(accountId) }
  })
  await unguarded(pool, (client) => openAll(client, accounts))
  const rounds = Math.max(1, Math.floor(CHUNK / accounts.length))
  for (let round = 0; round < PER_ACCOUNT; round += rounds) {
    await unguarded(pool, (client) => insertRounds(client, round, Math.min(PER_ACCOUNT, round + rounds) - 1))
    say(`${Math.min(PER_ACCOUNT, round + rounds) * accounts.length} receipts`)
  }
  await unguarded(pool, (client) => sumUp(client, accounts))
  await pool.query('VACUUM (ANALYZE)')
  return accounts
}

/** The accounts of a book that was filled before. */
export async function filledAccounts(pool: Pool): Promise<GrowthAccount[]> {
  const { rows } = await pool.query<{ account_id: string; key_id: string; log: number }>(
    'SELECT account_id, key_id, log FROM growth_accounts ORDER BY place',
  )
  return rows.map(({ account_id: accountId, key_id: keyId, log }) => ({ accountId, keyId, log }))
}

/** Runs statements as the owner of the book may, without its triggers. */
function unguarded<T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> {
  return withTransaction(pool, async (client) => {
    await client.query('SET LOCAL synchronous_commit = off')
    await client.query('SET LOCAL session_replication_role = replica')
    return work(client)
  })
}

/** The partitions of a book that has run for a year. */
function addPastMonths(pool: Pool): Promise<void> {
  const bound = idBound(monthStartMs(Date.now(), 1 - MONTHS))
  return withTransaction(pool, async (client) => {
    await client.query('ALTER TABLE receipts DETACH PARTITION receipts_first')
    await client.query(
      `ALTER TABLE receipts ATTACH PARTITION receipts_first FOR VALUES FROM (MINVALUE) TO ('${bound}')`,
    )
    await client.query(`UPDATE receipt_months SET month = 'before', until_id = $1 WHERE partition = 'receipts_first'`, [
      bound,
    ])
    await client.query(
      'SELECT add_receipt_month(now() - make_interval(months => back)) FROM generate_series(1, $1) AS back',
      [MONTHS - 1],
    )
  })
}

async function openAll(client: Client, accounts: readonly GrowthAccount[]): Promise<void> {
  const values = [
    textArray(accounts.map(({ accountId }) => accountId)),
    textArray(accounts.map(({ keyId }) => keyId)),
    intArray(accounts.map(({ log }) => log)),
  ]
  // For each account, how many accounts of its log come before it, and how many there are; positions follow from both.
  await client.query(
    `CREATE TABLE growth_accounts AS
     SELECT account_id COLLATE "C" AS account_id, key_id COLLATE "C" AS key_id, log, place - 1 AS place,
       row_number() OVER (PARTITION BY log ORDER BY place) - 1 AS rank, count(*) OVER (PARTITION BY log) AS of_log
     FROM unnest($1::text[], $2::text[], $3::smallint[]) WITH ORDINALITY AS a (account_id, key_id, log, place)`,
    values,
  )
  await client.query(`INSERT INTO accounts (id) SELECT account_id FROM growth_accounts`)
  await client.query(
    `INSERT INTO api_keys (id, account_id, hash, last4) SELECT key_id, account_id, key_id, '' FROM growth_accounts`,
  )
  await client.query(`INSERT INTO ledger_accounts (id, kind, owner, currency)
    SELECT 'coin:' || account_id, 'coin', account_id, 'coin' FROM growth_accounts`)
  await client.query(`INSERT INTO price_sheets (version, published_at, valid_until, content_hash, sheet)
    VALUES (1, now(), now() + interval '1 day', '', '{"coin":{"usd":"1"},"models":[]}')`)
}

/** One receipt of each account in a round; accounts take turns. */
async function insertRounds(client: Client, from: number, to: number): Promise<void> {
  const startMs = monthStartMs(Date.now(), 1 - MONTHS)
  const visitMs = Math.floor((Date.now() - startMs) / (PER_ACCOUNT / PER_VISIT))
  await client.query(
    `WITH made AS (
       SELECT a.*, round, $3::bigint + (round / ${PER_VISIT}) * $4::bigint + a.place % $4::bigint + round % ${PER_VISIT} AS ms
       FROM generate_series($1::bigint, $2::bigint) AS round CROSS JOIN growth_accounts a
     ), booked AS (
       INSERT INTO receipts (request_id, log, position, account_id, key_id, model, endpoint, provider, sheet_version, status,
         error_code, streamed, hold_units, charge_units, voided, split, input_tokens, cached_input_tokens,
         cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens, quantity, unit, usage_source, clamped,
         held_at_ms, started_at_ms, first_byte_ms, duration_ms, rate, tier, size, leaf_hash)
       SELECT request_id_at(to_timestamp(ms / 1000.0)) || upper(left(md5(account_id || round), 16)), log,
         round * of_log + rank, account_id, key_id, 'acme/chat-small', 'chat', 'acme', 1, 'ok', '', true,
         ${CHARGE_UNITS * 2}, ${CHARGE_UNITS}, false, 'coin=${CHARGE_UNITS}', 120, 16, 0, 0, 340, 0, 0, '', 'reported', false,
         ms, ms, 210, 3100, 'standard', 'standard', '', sha256((account_id || round)::bytea)
       FROM made ORDER BY ms RETURNING request_id, account_id, log
     )
     INSERT INTO transfers (ref, kind, debit, credit, units, coin_nanos)
     SELECT request_id, 'charge', 'coin:' || account_id, 'revenue:' || lpad(log::text, 2, '0'), ${CHARGE_UNITS}, ${CHARGE_UNITS}
     FROM booked`,
    [from, to, startMs, visitMs],
  )
}

/** The sums that booking keeps in addition to the receipts. */
async function sumUp(client: Client, accounts: readonly GrowthAccount[]): Promise<void> {
  await client.query(`INSERT INTO usage_days
    SELECT account_id, (held_at_ms / 86400000)::integer, key_id, model, count(*), sum(charge_units), sum(input_tokens +
      cached_input_tokens), sum(cached_input_tokens), sum(output_tokens) FROM receipts GROUP BY 1, 2, 3, 4`)
  await client.query(`INSERT INTO key_usage (key_id, hour, account_id, shard, units, requests)
    SELECT key_id, (held_at_ms / 3600000)::integer, account_id, log, sum(charge_units), count(*)
    FROM receipts GROUP BY 1, 2, 3, 4`)
  await client.query(`INSERT INTO public_statistics
    SELECT day, model, sum(requests), sum(requests), 0, 0, sum(units), sum(input_tokens - cached_input_tokens),
      sum(cached_input_tokens), 0, 0, sum(output_tokens), 0, '[]', '[]' FROM usage_days GROUP BY 1, 2`)
  await client.query(
    `UPDATE ledger_accounts SET balance = $1 WHERE kind = 'coin' AND owner IN (SELECT account_id FROM growth_accounts)`,
    [COIN_NANOS],
  )
  const sizes = Array.from({ length: SHARD_COUNT }, () => 0)
  for (const { log } of accounts) sizes[log] = (sizes[log] ?? 0) + PER_ACCOUNT
  for (const [log, size] of sizes.entries()) {
    await client.query('UPDATE usage_log_heads SET size = $2, peaks = $3 WHERE log = $1', [
      log,
      size,
      Buffer.alloc(peaksOf(size).length * HASH_BYTES, 1),
    ])
  }
  await client.query('UPDATE statistics_cursors c SET position = h.size FROM usage_log_heads h WHERE h.log = c.log')
  await client.query(`INSERT INTO usage_log_nodes (log, level, index, hash)
    SELECT h.log, level, index, sha256((h.log || ':' || level || ':' || index)::bytea)
    FROM usage_log_heads h CROSS JOIN unnest(ARRAY[4, 8, 12, 16, 20, 24]) AS level
    CROSS JOIN LATERAL generate_series(0, (h.size >> level) - 1) AS index WHERE h.log < ${HEADS_LOG}`)
}
