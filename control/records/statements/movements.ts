import { DAY_MS } from '../../../contract/api/time.ts'
import { coinAccount } from '../../book/ledger/accounts.ts'
import { idBound, idTimeMs } from '../../book/partitions/idTime.ts'
import { camelColumns } from '../../runtime/db/columns.ts'
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
  /** As contract/money/tags.ts has them, '' for none. */
  readonly endUser: string
  readonly tags: string
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

type ChargeRow = Amounts &
  Pick<Movement, 'timeMs' | 'reference' | 'keyId' | 'model' | 'endpoint' | 'status' | 'unit' | 'endUser' | 'tags'> & {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly quantity: number
  }

/** The amounts of a movement; tokens of the series `lockSeries`, '' for none. */
interface Amounts extends Pick<Movement, 'coinNanos' | 'coinUnits' | 'creditUnits'> {
  readonly lockSeries: string
  readonly tokenUnits: number
  readonly tokenMicros: number
}

/** SQL of the micro-tokens that units of a series are, which are a whole number. @param units SQL */
const microsOf = (units: string): string => `(${units})::numeric * 1000000 / s.locked_price_units`

// Each key's receipts are read in their order by the index, and merged.
const CHARGES = `
  SELECT ${camelColumns('r.key_id, r.model, r.endpoint, r.status, r.end_user, r.tags, r.input_tokens, r.output_tokens, r.quantity, r.unit')},
    r.request_id AS reference, r.held_at_ms AS "timeMs", r.lock_series AS "lockSeries", -t.coin_nanos AS "coinNanos",
    -t.coin_units AS "coinUnits", -t.credit_units AS "creditUnits", -t.token_units AS "tokenUnits",
    -trunc(coalesce(${microsOf('t.token_units')}, 0)) AS "tokenMicros"
  FROM (
    SELECT own.* FROM (SELECT DISTINCT key_id FROM usage_days WHERE account_id = $1 AND day BETWEEN $2 AND $3) AS used,
    LATERAL (
      SELECT request_id, key_id, model, endpoint, status, end_user, tags, held_at_ms, output_tokens, quantity, unit, lock_series,
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
  return found.rows.map(({ lockSeries, tokenUnits, tokenMicros, ...row }) => ({
    ...row,
    orderMs: idTimeMs(row.reference),
    kind: 'charge',
    quantity: row.unit === '' ? null : row.quantity,
    tokens: tokensIn({ lockSeries, tokenUnits, tokenMicros }),
    place: { requestId: row.reference },
  }))
}

interface OtherRow extends Amounts, Pick<Movement, 'kind' | 'reference'> {
  readonly id: number
  readonly atMicros: number
}

function tokensIn({
  lockSeries: seriesId,
  tokenUnits: units,
  tokenMicros: micros,
}: Pick<Amounts, 'lockSeries' | 'tokenUnits' | 'tokenMicros'>): LockTokens | null {
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
  SELECT m.id, m.kind, m.ref AS reference, m.at_micros AS "atMicros", coalesce(m.coin_nanos, 0) AS "coinNanos",
    coalesce(m.coin_units, 0) AS "coinUnits", coalesce(m.credit_units, 0) AS "creditUnits",
    coalesce(m.lock_series, '') AS "lockSeries", coalesce(m.token_units, 0) AS "tokenUnits",
    coalesce(trunc(${microsOf('token_units')}), 0) AS "tokenMicros"
  FROM m LEFT JOIN lock_series s ON s.id = m.lock_series ORDER BY at_micros, id`

/** All movements after a transfer except charges, in the order of their booking. */
export async function othersBehind(
  db: Queryable,
  { accountId, startMs, endMs }: StatementMonth,
  { atMicros, transferId }: Pick<StatementPlace, 'atMicros' | 'transferId'>,
  limit: number,
): Promise<Movement[]> {
  const values = [accountId, startMs / 1_000, endMs / 1_000, atMicros, transferId, limit]
  const found = await db.query<OtherRow>(OTHERS, values)
  return found.rows.map(({ id, atMicros: at, lockSeries, tokenUnits, tokenMicros, ...row }) => ({
    ...NO_REQUEST,
    ...row,
    orderMs: Math.floor(at / 1_000),
    timeMs: Math.floor(at / 1_000),
    tokens: tokensIn({ lockSeries, tokenUnits, tokenMicros }),
    place: { atMicros: at, transferId: id },
  }))
}

/** The members of movements that are of no request. */
const NO_REQUEST = {
  keyId: '',
  model: '',
  endpoint: '',
  status: '',
  endUser: '',
  tags: '',
  inputTokens: null,
  outputTokens: null,
  quantity: null,
  unit: '',
} as const

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
