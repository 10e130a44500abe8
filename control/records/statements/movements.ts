import { DAY_MS } from '../../../contract/api/time.ts'
import { coinAccount } from '../../book/ledger/accounts.ts'
import { idBound, idTimeMs } from '../../book/partitions/idTime.ts'
import { countOf } from '../../runtime/db/count.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'

/** One line of a statement: credits are positive, debits negative. */
export interface Movement {
  /** Orders the lines, milliseconds since 1970. */
  readonly orderMs: number
  readonly timeMs: number
  /** The kind of the transfers: 'charge', 'payment', 'grant', 'expire' and so on. */
  readonly kind: string
  readonly reference: string
  readonly keyId: string
  readonly model: string
  readonly endpoint: string
  readonly status: string
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  /** The quantity and its unit, for prices by other units than tokens. */
  readonly quantity: number | null
  readonly unit: string
  /** Coin that moved, in integers of 1e-9 coin, and its worth then. */
  readonly coinNanos: number
  readonly coinUnits: number
  readonly creditUnits: number
  /** Tokens of a compute lock that moved; null for none. */
  readonly tokens: LockTokens | null
  /** Cursor of the movements after this one. */
  readonly place: Partial<StatementPlace>
}

/** Tokens of one series. */
export interface LockTokens {
  readonly seriesId: string
  /** At the locked price. */
  readonly units: number
  readonly micros: number
}

/** How far a statement has been read: the last charge, and the last of the other movements. */
export interface StatementPlace {
  readonly requestId: string
  readonly atMicros: number
  readonly transferId: number
}

export interface StatementMonth {
  readonly accountId: string
  readonly startMs: number
  readonly endMs: number
}

/** A request belongs to the month of its hold; its id carries the time of its arrival, by the clock of a proxy. */
const ID_SLACK_MS = 3_600_000

interface ChargeRow {
  readonly request_id: string
  readonly key_id: string
  readonly model: string
  readonly endpoint: string
  readonly status: string
  readonly held_at_ms: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly quantity: number
  readonly unit: string
  readonly coin_nanos: number
  readonly coin_units: number
  readonly credit_units: number
  readonly lock_series: string
  readonly token_units: number
  readonly token_micros: number
}

/** SQL of the micro-tokens that units of a series are, which are a whole number. @param units SQL */
const microsOf = (units: string): string => `(${units})::numeric * 1000000 / s.locked_price_units`

// Each key's receipts are read in their order by the index, and merged.
const CHARGES = `
  SELECT r.*, t.coin_nanos, t.coin_units, t.credit_units, t.token_units,
    trunc(coalesce(${microsOf('t.token_units')}, 0)) AS token_micros
  FROM (
    SELECT own.* FROM (SELECT DISTINCT key_id FROM usage_days WHERE account_id = $1 AND day BETWEEN $2 AND $3) AS used,
    LATERAL (
      SELECT request_id, key_id, model, endpoint, status, held_at_ms, output_tokens, quantity, unit, lock_series,
        input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens AS input_tokens
      FROM receipts
      WHERE key_id = used.key_id AND request_id > $4 AND request_id < $5 AND (charge_units > 0 OR lock_units > 0)
        AND held_at_ms >= $6 AND held_at_ms < $7
      ORDER BY request_id LIMIT $8
    ) AS own ORDER BY own.request_id LIMIT $8
  ) AS r
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(coalesce(coin_nanos, units)) FILTER (WHERE debit = $9), 0) AS coin_nanos,
      coalesce(sum(units) FILTER (WHERE debit = $9), 0) AS coin_units,
      coalesce(sum(units) FILTER (WHERE debit LIKE 'grant:%'), 0) AS credit_units,
      coalesce(sum(units) FILTER (WHERE debit LIKE 'lock:%'), 0) AS token_units
    FROM transfers WHERE ref = r.request_id AND kind IN ('charge', 'burn')
  ) AS t
  LEFT JOIN lock_series s ON s.id = r.lock_series
  ORDER BY r.request_id`

/** Charges after a request, in the order of the request ids, without the amounts that the house bore. */
export async function chargesBehind(
  db: Queryable,
  { accountId, startMs, endMs }: StatementMonth,
  requestId: string,
  limit: number,
): Promise<Movement[]> {
  const days = [Math.floor(startMs / DAY_MS), Math.floor(endMs / DAY_MS)]
  const ids = [requestId || idBound(startMs - ID_SLACK_MS), idBound(endMs + ID_SLACK_MS)]
  const values = [accountId, ...days, ...ids, startMs, endMs, limit, coinAccount(accountId)]
  const found = await db.query<ChargeRow>(CHARGES, values)
  return found.rows.map((row) => ({
    orderMs: idTimeMs(row.request_id),
    timeMs: row.held_at_ms,
    kind: 'charge',
    reference: row.request_id,
    keyId: row.key_id,
    model: row.model,
    endpoint: row.endpoint,
    status: row.status,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    quantity: row.unit === '' ? null : row.quantity,
    unit: row.unit,
    coinNanos: -row.coin_nanos,
    coinUnits: -row.coin_units,
    creditUnits: -row.credit_units,
    tokens: tokensIn(row.lock_series, -row.token_units, -row.token_micros),
    place: { requestId: row.request_id },
  }))
}

interface OtherRow {
  readonly id: number
  readonly kind: string
  readonly ref: string
  readonly at_micros: number
  readonly coin_nanos: number | null
  readonly coin_units: number | null
  readonly credit_units: number | null
  readonly lock_series: string | null
  readonly token_units: number | null
  readonly token_micros: number | null
}

/** Minus zero, which would be written as such, counts as none. */
function tokensIn(seriesId: string, units: number, micros: number): LockTokens | null {
  return seriesId === '' || units === 0 ? null : { seriesId, units, micros }
}

/** SQL of the movements of the account `a` on one side. */
const otherSide = (side: 'debit' | 'credit'): string =>
  `${side} = a.id AND kind <> 'charge' AND kind <> 'burn' AND at >= to_timestamp($2) AND at < to_timestamp($3)`

const OTHERS = `
  WITH m AS (
    SELECT id, kind, ref, at_micros, sum(nanos) FILTER (WHERE account_kind NOT IN ('grant', 'lock')) AS coin_nanos,
      sum(units) FILTER (WHERE account_kind NOT IN ('grant', 'lock')) AS coin_units,
      sum(units) FILTER (WHERE account_kind = 'grant') AS credit_units,
      sum(units) FILTER (WHERE account_kind = 'lock') AS token_units,
      max(split_part(account, ':', 2)) FILTER (WHERE account_kind = 'lock') AS lock_series
    FROM (
      SELECT a.kind AS account_kind, a.id AS account, t.* FROM ledger_accounts a, LATERAL (
        SELECT id, kind, ref, -units AS units, -coalesce(coin_nanos, units) AS nanos,
          (extract(epoch FROM at) * 1000000)::bigint AS at_micros
        FROM transfers WHERE ${otherSide('debit')}
        UNION ALL
        SELECT id, kind, ref, units, coalesce(coin_nanos, units), (extract(epoch FROM at) * 1000000)::bigint
        FROM transfers WHERE ${otherSide('credit')}
      ) AS t WHERE a.owner = $1
    ) AS postings
    WHERE (at_micros, id) > ($4, $5)
    GROUP BY id, kind, ref, at_micros ORDER BY at_micros, id LIMIT $6
  )
  SELECT m.*, trunc(${microsOf('token_units')}) AS token_micros FROM m LEFT JOIN lock_series s ON s.id = m.lock_series
  ORDER BY at_micros, id`

/** All movements after a transfer except charges, in the order of their booking. */
export async function othersBehind(
  db: Queryable,
  { accountId, startMs, endMs }: StatementMonth,
  { atMicros, transferId }: Pick<StatementPlace, 'atMicros' | 'transferId'>,
  limit: number,
): Promise<Movement[]> {
  const values = [accountId, startMs / 1_000, endMs / 1_000, atMicros, transferId, limit]
  const found = await db.query<OtherRow>(OTHERS, values)
  return found.rows.map((row) => ({
    orderMs: Math.floor(row.at_micros / 1_000),
    timeMs: Math.floor(row.at_micros / 1_000),
    kind: row.kind,
    reference: row.ref,
    keyId: '',
    model: '',
    endpoint: '',
    status: '',
    inputTokens: null,
    outputTokens: null,
    quantity: null,
    unit: '',
    coinNanos: row.coin_nanos ?? 0,
    coinUnits: row.coin_units ?? 0,
    creditUnits: row.credit_units ?? 0,
    tokens: tokensIn(row.lock_series ?? '', row.token_units ?? 0, row.token_micros ?? 0),
    place: { atMicros: row.at_micros, transferId: row.id },
  }))
}

/** How many charges are read together, so that many keys do not make a page large. */
export async function chargesPage(
  db: Queryable,
  { accountId, startMs, endMs }: StatementMonth,
  limits: RecordsLimits,
): Promise<number> {
  const counted = await countOf(
    db,
    'SELECT count(DISTINCT key_id) FROM usage_days WHERE account_id = $1 AND day BETWEEN $2 AND $3',
    [accountId, Math.floor(startMs / DAY_MS), Math.floor(endMs / DAY_MS)],
  )
  const keys = Math.max(1, counted)
  return Math.max(1, Math.min(limits.statementPageMax, Math.floor(limits.statementRowsReadMax / keys)))
}
