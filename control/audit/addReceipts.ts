import { daysOf, hourSumsOf, hoursOf, outcomesOf, tagSumsOf } from '../book/usage/receiptSums.ts'
import { LOG_COUNT } from '../book/usagelog/head.ts'
import { referredCharges } from '../products/transfers/referrals/referredCharges.ts'
import { intArray } from '../runtime/db/arrays.ts'
import type { Client } from '../runtime/db/pool.ts'
import { Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'
import type { Progress } from './progress.ts'
import { sidesOf } from './sides.ts'
import { longQuery } from './workspace.ts'

/** Of a chunk of receipts. */
interface Chunk {
  readonly receipts: number
  /** Different ones. */
  readonly requests: number
  readonly voided: number
  readonly transfers: number
  readonly booked: string[] | null
  readonly ended: string[] | null
  readonly exceeding: string[] | null
}

/** Findings about single receipts. */
export class ReceiptFindings {
  receipts = 0
  /** Fewer than receipts if one has several. */
  requests = 0
  voided = 0
  /** Of charges that have a receipt. */
  transfers = 0
  readonly booked = new Faults()
  readonly ended = new Faults()
  readonly exceeding = new Faults()

  add(chunk: Chunk): void {
    this.receipts += chunk.receipts
    this.requests += chunk.requests
    this.voided += chunk.voided
    this.transfers += chunk.transfers
    for (const fault of chunk.booked ?? []) this.booked.add(fault)
    for (const fault of chunk.ended ?? []) this.ended.add(fault)
    for (const fault of chunk.exceeding ?? []) this.exceeding.add(fault)
  }
}

/**
 * SQL of how a transfer `t` fits the split of its receipt `r`: 0 as the split says, 1 by its account with another amount, 2 not at
 * all. The house bears what the account no longer had. The paid and the unpaid part are revenue of the same shard.
 */
const STRANGE = `CASE
  WHEN t.debit IS NULL THEN 0
  WHEN NOT starts_with(t.credit, 'revenue') THEN 2
  WHEN t.debit = 'coin:' || r.account_id THEN
    CASE WHEN strpos(',' || r.split || ',', ',coin=' || t.units || coalesce(':' || nullif(t.coin_nanos, t.units), '') || ',') > 0
      THEN 0 ELSE 1 END
  WHEN starts_with(t.debit, 'grant:') AND EXISTS (SELECT FROM grants g WHERE g.id = substr(t.debit, 7) AND g.account_id = r.account_id)
    THEN CASE WHEN strpos(',' || r.split || ',', ',' || substr(t.debit, 7) || '=' || t.units || ',') > 0 THEN 0 ELSE 1 END
  WHEN t.debit = 'house' THEN 0
  ELSE 2 END AS strange`

/**
 * Which receipts may have a fault, and few others: of these alone the accounts are listed and the shards compared, which would
 * cost more than the rest of the comparison.
 */
const GROUPS = `
  SELECT count(*) AS requests, array_agg(request_id) FILTER (WHERE is_suspect) AS suspects FROM (
    SELECT request_id, min(charge_units) <> coalesce(sum(units), 0) OR min(credit) <> max(credit) OR max(strange) > 0 AS is_suspect
    FROM x GROUP BY request_id
  ) AS request`

/**
 * SQL that adds receipts up, and compares each with its charges.
 * @param where which receipts
 * @param charges SQL of rows (request_id, charge_units, debit, credit, units, nanos, strange), of receipts `r` and their transfers
 * @param isMoving whether the amounts of the charges' transfers are added up as well
 */
const addSql = (where: string, charges: string, isMoving: boolean): string => `
  WITH r AS MATERIALIZED (
    SELECT request_id, account_id, key_id, model, held_at_ms, charge_units, lock_units, hold_units, voided, status, input_tokens,
      cached_input_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens, split, end_user, tags, tags_hash, provider, error_code
    FROM receipts WHERE ${where}
  ), x AS MATERIALIZED (${charges}), groups AS MATERIALIZED (${GROUPS}), ${isMoving ? MOVED : ''} hours AS (
    INSERT INTO new_key_usage ${hoursOf('r')}
  ), days AS (
    INSERT INTO new_usage_days ${daysOf('r')}
  ), outcomes AS (
    INSERT INTO new_usage_outcomes ${outcomesOf('r')}
  ), hourly AS (
    INSERT INTO new_usage_hours ${hourSumsOf('r')}
  ), tagged AS (
    INSERT INTO new_usage_tags ${tagSumsOf('r')}
  )
  SELECT count(*) AS receipts, count(*) FILTER (WHERE voided) AS voided, (SELECT requests FROM groups) AS requests,
    (SELECT count(debit) FROM x) AS transfers,
    array_agg(request_id || ' was charged ' || charge_units::numeric + lock_units || ' of ' || hold_units)
      FILTER (WHERE charge_units > hold_units - lock_units) AS exceeding,
    array_agg(request_id || CASE WHEN charge_units > 0 THEN ' is charged and ' ELSE ' is voided and ' END || status)
      FILTER (WHERE CASE WHEN status IN ('ok', 'partial') THEN voided ELSE charge_units > 0 OR lock_units > 0 END) AS ended,
    (SELECT array_agg(fault) FROM (
      SELECT request_id || ' was charged ' || min(charge_units) || ', its transfers are ' || coalesce(sum(units), 0) ||
        CASE WHEN max(strange) = 0 THEN '' ELSE ' of ' || string_agg(debit, ', ') || ', which is not its split' END AS fault
      FROM unnest((SELECT suspects FROM groups)) AS request_id JOIN x USING (request_id) GROUP BY request_id HAVING min(charge_units) <> coalesce(sum(units), 0)
        OR min(split_part(credit, ':', 2)) <> max(split_part(credit, ':', 2))
        OR max(strange) > bool_or(debit = 'house')::integer
    ) AS f) AS booked
  FROM r`

const MOVED = `
  moved AS (
    SELECT debit, credit, sum(units) AS units, sum(nanos) AS nanos FROM x WHERE debit IS NOT NULL GROUP BY 1, 2
  ), charges AS (
    INSERT INTO new_charges ${sidesOf('moved')}
  ),`

/** Transfers are looked up receipt by receipt: the server would put all there are into a hash table. */
const ADD = addSql(
  'log = $1 AND position >= $2 AND position < $3',
  `SELECT r.request_id, r.charge_units, t.debit, t.credit, t.units, coalesce(t.coin_nanos, t.units) AS nanos, ${STRANGE}
   FROM r LEFT JOIN LATERAL (
     SELECT debit, credit, units, coin_nanos FROM transfers
     WHERE ref = r.request_id AND kind = 'charge' OFFSET 0
   ) AS t ON true`,
  true,
)

/** Receipts of a range of ids lie next to each other, and so do their transfers. */
const ADD_RANGE = addSql(
  'request_id BETWEEN $1 AND $2',
  `SELECT r.request_id, r.charge_units, t.debit, t.credit, t.units, ${STRANGE}
   FROM r LEFT JOIN transfers t ON t.ref = r.request_id AND t.kind = 'charge' AND t.ref BETWEEN $1 AND $2`,
  false,
)

/** The first and the last of the next ids. */
const RANGE = `
  SELECT min(request_id) AS first, max(request_id) AS last
  FROM (SELECT request_id FROM receipts WHERE request_id >= $1 ORDER BY request_id LIMIT $2) AS next`
/** Suffix for the first string after an id in byte order. */
const JUST_BEHIND = '\u0001'

const ADD_CHARGES = `
  WITH moved AS MATERIALIZED (
    SELECT debit, credit, sum(units) AS units, sum(coalesce(coin_nanos, units)) AS nanos, count(*) AS transfers
    FROM transfers WHERE kind = 'charge' GROUP BY 1, 2
  ), charges AS (
    INSERT INTO new_charges ${sidesOf('moved')}
  )
  SELECT coalesce(sum(transfers), 0) AS transfers FROM moved`

const ADD_REFERRED = `
  INSERT INTO new_referrals
  SELECT f.id, sum(t.units) FROM ${referredCharges('receipts')}
  WHERE r.log = $1 AND r.position >= $2 AND r.position < $3 GROUP BY f.id`

/**
 * Adds up all receipts, in the order of their ids, which is also that of their transfers.
 * @param findings receives the faults
 */
export async function addAllReceipts(
  client: Client,
  findings: ReceiptFindings,
  progress: Progress,
  limits: AuditLimits,
): Promise<void> {
  // Without statistics the server might compare every receipt of a range with every transfer in it.
  await client.query('SET LOCAL enable_nestloop = off')
  for (let from = ''; ; ) {
    // Nor might it read and sort all receipts to find each range.
    await client.query('SET LOCAL enable_sort = off')
    const found = await client.query<{ first: string | null; last: string | null }>(
      longQuery(limits, RANGE, [from, limits.auditSumReceipts]),
    )
    await client.query('SET LOCAL enable_sort = on')
    const { first, last } = found.rows[0] ?? { first: null, last: null }
    if (last === null) break
    addChunk(await client.query<Chunk>(longQuery(limits, ADD_RANGE, [first, last])), findings, progress)
    from = `${last}${JUST_BEHIND}`
  }
  await client.query('SET LOCAL enable_nestloop = on')
}

/** Adds up the transfers of all charges, with or without receipts. @returns the number of transfers */
export async function addAllCharges(client: Client, limits: AuditLimits): Promise<number> {
  const found = await client.query<{ transfers: number }>(longQuery(limits, ADD_CHARGES))
  return found.rows[0]?.transfers ?? 0
}

/**
 * Adds up receipts and the transfers of their charges.
 * @param from by log, where to begin
 * @param findings receives the faults
 */
export async function addReceipts(
  client: Client,
  from: readonly number[],
  findings: ReceiptFindings,
  progress: Progress,
  limits: AuditLimits,
): Promise<void> {
  for (const log of await logsFrom(client, from)) {
    await eachChunk(client, { log, from: from[log] ?? 0, until: Number.MAX_SAFE_INTEGER }, limits, async (values) => {
      addChunk(await client.query<Chunk>(longQuery(limits, ADD, values)), findings, progress)
    })
  }
}

function addChunk({ rows: [chunk] }: { rows: Chunk[] }, findings: ReceiptFindings, progress: Progress): void {
  if (chunk === undefined) return
  findings.add(chunk)
  progress.add(chunk.receipts)
}

/** The logs that have receipts from these places on. */
export async function logsFrom(client: Client, from: readonly number[]): Promise<number[]> {
  const found = await client.query<{ log: number }>(
    `SELECT log::integer FROM unnest($1::bigint[]) WITH ORDINALITY AS l (place, number)
     CROSS JOIN LATERAL (SELECT log FROM receipts WHERE log = number - 1 AND position >= place LIMIT 1) AS r`,
    [intArray(Array.from({ length: LOG_COUNT }, (_, log) => from[log] ?? 0))],
  )
  return found.rows.map(({ log }) => log).sort((a, b) => a - b)
}

/**
 * Adds the coin charges that were counted for referrals.
 * @param from by log, up to where those are counted that are in the mark
 */
export async function addReferred(client: Client, from: readonly number[], limits: AuditLimits): Promise<void> {
  const any = await client.query('SELECT 1 FROM referrals LIMIT 1')
  if (any.rows.length === 0) return
  for (const [log, until] of (await readCursors(client)).entries()) {
    await eachChunk(client, { log, from: from[log] ?? 0, until }, limits, async (values) => {
      await client.query(longQuery(limits, ADD_REFERRED, values))
    })
  }
}

/** Up to where receipts are counted for referrals, by log. */
export async function readCursors(client: Client): Promise<number[]> {
  const found = await client.query<{ position: number }>('SELECT position FROM referral_cursors ORDER BY log')
  return found.rows.map(({ position }) => position)
}

async function eachChunk(
  client: Client,
  { log, from, until }: { log: number; from: number; until: number },
  limits: AuditLimits,
  work: (values: [log: number, from: number, until: number]) => Promise<void>,
): Promise<void> {
  for (let next = from; ; ) {
    const found = await client.query<{ position: number }>(
      'SELECT position FROM receipts WHERE log = $1 AND position >= $2 AND position < $3 ORDER BY position LIMIT 1',
      [log, next, until],
    )
    const [first] = found.rows
    if (first === undefined) return
    next = Math.min(first.position + limits.auditSumReceipts, until)
    await work([log, first.position, next])
  }
}
