/** The columns of receipts that are added up: counts, units of 1e-9 USD, and tokens, whose classes do not overlap. */
export const FIGURES = [
  'requests',
  'ok',
  'ended_by_client',
  'failed',
  'units',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'reasoning_tokens',
] as const
export type Figure = (typeof FIGURES)[number]
export type Figures = Readonly<Record<Figure, number>>

/** The model of a row that sums models which are not published separately. */
export const OTHERS = ''
/** The day of usage whose date is not published. */
export const UNDATED = -1

/** The usage of a model on a day. */
export interface Cell extends Figures {
  /** Days since 1970, UTC, or UNDATED. */
  readonly day: number
  /** Or OTHERS. */
  readonly model: string
  /** Counts of requests by their time, by the buckets of BOUNDS_MS; empty where nothing was counted. */
  readonly durations: readonly number[]
  readonly first_tokens: readonly number[]
}

/** The same with the accounts that used it, of those that are named. */
export interface OwnedCell extends Cell {
  readonly owners: readonly string[]
}

/** Two cells as one. @param place the day and the model of the sum */
export function together<C extends Cell>(place: Pick<Cell, 'day' | 'model'>, a: C, b: C): C {
  return {
    ...a,
    ...addedFigures(a, b),
    day: place.day,
    model: place.model,
    durations: addedCounts(a.durations, b.durations),
    first_tokens: addedCounts(a.first_tokens, b.first_tokens),
  }
}

function addedFigures(a: Figures, b: Figures): Record<Figure, number> {
  return Object.fromEntries(FIGURES.map((name) => [name, a[name] + b[name]])) as Record<Figure, number>
}

/** Sums place by place. */
function addedCounts(a: readonly number[], b: readonly number[]): number[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, place) => (a[place] ?? 0) + (b[place] ?? 0))
}

/** The columns of a cell in the database, where counts are JSON. */
export const CELL_COLUMNS: string = ['day', 'model', ...FIGURES, 'durations', 'first_tokens'].join(', ')

export type CellRow<C extends Cell = Cell> = Omit<C, 'durations' | 'first_tokens'> & {
  readonly durations: string
  readonly first_tokens: string
}

export function cellOfRow<C extends Cell>(row: CellRow<C>): C {
  return { ...row, durations: JSON.parse(row.durations), first_tokens: JSON.parse(row.first_tokens) } as unknown as C
}
