import { formatUsdWide } from '../../../contract/money/units.ts'

/** Sums over requests, as reads of usage select them. */
export interface UsageSums {
  readonly requests: number
  /** As decimal text: over a year it may exceed the largest balance of an account. */
  readonly units: string
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly output_tokens: number
}

/** Columns of sums over receipts, in the order in which they are written and read. */
export const SUM_COLUMNS = ['requests', 'units', 'input_tokens', 'cached_input_tokens', 'output_tokens'] as const

/** The same of sums by hour, with more classes of tokens, each a part of the input or output tokens. */
export const HOUR_SUM_COLUMNS = [...SUM_COLUMNS, 'cache_write_tokens', 'reasoning_tokens'] as const

/** SQL of the sums of rows that have such columns. */
export const SUMS: string = SUM_COLUMNS.map(
  (name) => `coalesce(sum(${name}), 0)${name === 'units' ? '::text' : ''} AS ${name}`,
).join(', ')

/** The same of one account, whose sums are integers in PostgreSQL, too, or the statement fails. */
export const ACCOUNT_SUMS: string = SUM_COLUMNS.map(
  (name) => `bigint_sum(${name})${name === 'units' ? '::text' : ''} AS ${name}`,
).join(', ')

/** The sums of all rows, which are in the first row that was read. */
export function wholeOf<Sums extends UsageSums>([whole]: readonly Sums[]): Sums {
  if (whole === undefined) throw new Error('a query of sums has answered no row')
  return whole
}

/** The same as the API shows it. */
export function sumsJson(sums: UsageSums) {
  return {
    requests: sums.requests,
    input_tokens: sums.input_tokens,
    cached_input_tokens: sums.cached_input_tokens,
    output_tokens: sums.output_tokens,
    cost: { units: sums.units, usd: formatUsdWide(BigInt(sums.units)) },
  }
}
