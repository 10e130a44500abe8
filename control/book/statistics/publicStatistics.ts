import type { Queryable } from '../../runtime/db/pool.ts'
import { BUCKETS } from './buckets.ts'
import { CELL_COLUMNS, type CellRow, FIGURES, type Figure, type Figures, OTHERS } from './cell.ts'

/** Figures whose units may be beyond what an account can hold. */
export type WideFigures = Omit<Figures, 'units'> & { readonly units: bigint }

/** The published sums of some requests. */
export interface Told {
  readonly sums: WideFigures
  /** Counts of requests by their time, by the buckets of BOUNDS_MS. */
  readonly durations: readonly number[]
  readonly first_tokens: readonly number[]
}

export interface Statistics {
  readonly total: Told
  /** By days since 1970, in their order; days without published sums are missing. */
  readonly days: ReadonlyMap<number, Told>
  /** In the order of their ids, without the others. */
  readonly models: ReadonlyMap<string, Told>
  /** Models that are not published separately. */
  readonly others: Told
}

/** Which days, both included, and which model; null for all. */
export interface Span {
  readonly fromDay: number
  readonly toDay: number
  readonly model: string | null
}

const sumsOf = (names: readonly string[]) => names.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')
const SUMS = sumsOf(FIGURES)
const COUNT_SUMS = sumsOf(FIGURES.filter((name) => name !== 'units'))

/** Reads the published sums of some days: together, by day, and by model. */
export async function readStatistics(db: Queryable, { fromDay, toDay, model }: Span): Promise<Statistics> {
  const { rows } = await db.query<CellRow>(
    `SELECT ${CELL_COLUMNS} FROM public_statistics
     WHERE day BETWEEN $1 AND $2 AND ($3::text IS NULL OR model = $3) ORDER BY day, model`,
    [fromDay, toDay, model],
  )
  const [total, days, models] = [new ToldSum(), new Map<number, ToldSum>(), new Map<string, ToldSum>()]
  for (const row of rows) {
    const [durations, firstTokens] = [JSON.parse(row.durations) as number[], JSON.parse(row.first_tokens) as number[]]
    sumAt(days, row.day).add(row, durations, firstTokens)
    sumAt(models, row.model).add(row, durations, firstTokens)
  }
  for (const day of days.values()) total.add(day.sums, day.durations, day.first_tokens)
  const others = models.get(OTHERS) ?? new ToldSum()
  models.delete(OTHERS)
  return { total, days, models: new Map([...models].sort(([a], [b]) => (a < b ? -1 : 1))), others }
}

function sumAt<Key>(sums: Map<Key, ToldSum>, key: Key): ToldSum {
  const known = sums.get(key) ?? new ToldSum()
  sums.set(key, known)
  return known
}

/** Added up in place, for there may be many. */
class ToldSum implements Told {
  readonly counts: Record<Figure, number> = Object.fromEntries(FIGURES.map((name) => [name, 0])) as Record<
    Figure,
    number
  >
  units = 0n
  readonly durations: number[] = new Array<number>(BUCKETS).fill(0)
  readonly first_tokens: number[] = new Array<number>(BUCKETS).fill(0)

  get sums(): WideFigures {
    return { ...this.counts, units: this.units }
  }

  add(sums: Figures | WideFigures, durations: readonly number[], firstTokens: readonly number[]): void {
    for (const name of FIGURES) if (name !== 'units') this.counts[name] += sums[name]
    this.units += BigInt(sums.units)
    addTo(this.durations, durations)
    addTo(this.first_tokens, firstTokens)
  }
}

function addTo(counts: number[], more: readonly number[]): void {
  for (let place = 0; place < more.length; place++) counts[place] = (counts[place] ?? 0) + (more[place] ?? 0)
}

/** The sums of everything ever published, including usage without a date. @param model null for all */
export async function readAllTime(db: Queryable, model: string | null): Promise<WideFigures> {
  const { rows } = await db.query<Omit<Figures, 'units'> & { readonly units: string }>(
    `SELECT ${COUNT_SUMS}, coalesce(sum(units), 0)::text AS units
     FROM public_statistics WHERE $1::text IS NULL OR model = $1`,
    [model],
  )
  const [sums] = rows
  if (sums === undefined) throw new Error('the database returned no sums')
  return { ...sums, units: BigInt(sums.units) }
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

/** Tokens by the classes that have prices. */
export function pricedTokens(sums: Omit<Figures, 'units'>) {
  return {
    input: sums.input_tokens,
    cached_input: sums.cached_input_tokens,
    cache_write_5m: sums.cache_write_5m_tokens,
    cache_write_1h: sums.cache_write_1h_tokens,
    output: sums.output_tokens,
  }
}

/** All tokens of some sums. */
export function allTokens(sums: Omit<Figures, 'units'>): number {
  return Object.values(pricedTokens(sums)).reduce((all, tokens) => all + tokens, 0)
}
