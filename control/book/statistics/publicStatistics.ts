import type { Queryable } from '../../runtime/db/pool.ts'
import { FIGURES, type Figures, OTHERS } from './cell.ts'

/** What is told of some requests together. */
export interface Told extends Figures {
  /** How many took how long, by the buckets of BOUNDS_MS. */
  readonly durations: readonly number[]
  readonly first_tokens: readonly number[]
}

export interface Statistics {
  readonly total: Told | undefined
  /** By days since 1970, in their order; days of which nothing is told are missing. */
  readonly days: ReadonlyMap<number, Told>
  /** In the order of their ids, without the others. */
  readonly models: ReadonlyMap<string, Told>
  /** Models that are not told apart. */
  readonly others: Told | undefined
}

/** Which days, both included, and which model; null for all. */
export interface Span {
  readonly fromDay: number
  readonly toDay: number
  readonly model: string | null
}

interface ToldRow extends Told {
  readonly day: number | null
  readonly model: string | null
}

const SUMS = FIGURES.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')

/** Counts by group, as a JSON array by place. Places without a count are there as well, since all buckets before are. */
const countsOf = (column: string): string => `
  SELECT day, model, json_agg(count ORDER BY place) AS counts FROM (
    SELECT day, model, place, sum(count) AS count FROM told, unnest(${column}) WITH ORDINALITY AS c (count, place)
    GROUP BY GROUPING SETS ((day, place), (model, place), (place))
  ) AS buckets GROUP BY day, model`

const STATISTICS = `
  WITH told AS MATERIALIZED (
    SELECT * FROM public_statistics WHERE day BETWEEN $1 AND $2 AND ($3::text IS NULL OR model = $3)
  )
  SELECT s.*, coalesce(d.counts, '[]') AS durations, coalesce(f.counts, '[]') AS first_tokens
  FROM (SELECT day, model, ${SUMS} FROM told GROUP BY GROUPING SETS ((day), (model), ())) AS s
  LEFT JOIN (${countsOf('durations')}) AS d ON (d.day, d.model) IS NOT DISTINCT FROM (s.day, s.model)
  LEFT JOIN (${countsOf('first_tokens')}) AS f ON (f.day, f.model) IS NOT DISTINCT FROM (s.day, s.model)
  ORDER BY s.day, s.model`

/** Reads what may be told of some days: together, by day, and by model. */
export async function readStatistics(db: Queryable, { fromDay, toDay, model }: Span): Promise<Statistics> {
  const { rows } = await db.query<ToldRow>(STATISTICS, [fromDay, toDay, model])
  const models = new Map(rows.flatMap((row) => (row.model === null ? [] : [[row.model, row] as const])))
  const others = models.get(OTHERS)
  models.delete(OTHERS)
  return {
    total: rows.find((row) => row.day === null && row.model === null),
    days: new Map(rows.flatMap((row) => (row.day === null ? [] : [[row.day, row] as const]))),
    models,
    others,
  }
}

/** The sums of everything that was ever told, also of no day. @param model null for all */
export async function readAllTime(db: Queryable, model: string | null): Promise<Figures> {
  const { rows } = await db.query<Figures>(
    `SELECT ${SUMS} FROM public_statistics WHERE $1::text IS NULL OR model = $1`,
    [model],
  )
  const [sums] = rows
  if (sums === undefined) throw new Error('the database returned no sums')
  return sums
}

/** The sums of models on some days, both included, in the order of their ids; OTHERS among them. */
export async function readModelSums(
  db: Queryable,
  fromDay: number,
  toDay: number,
): Promise<Array<Figures & { readonly model: string }>> {
  const { rows } = await db.query<Figures & { readonly model: string }>(
    `SELECT model, ${SUMS} FROM public_statistics WHERE day BETWEEN $1 AND $2 GROUP BY model ORDER BY model`,
    [fromDay, toDay],
  )
  return rows
}

/** All tokens of some sums. */
export function allTokens(sums: Figures): number {
  return (
    sums.input_tokens +
    sums.cached_input_tokens +
    sums.cache_write_5m_tokens +
    sums.cache_write_1h_tokens +
    sums.output_tokens
  )
}
