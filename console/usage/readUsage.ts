import { type Read, read } from '../api/client.ts'
import { unitsOf } from '../format/money.ts'
import { daysBetween, lastDays, monthsBetween } from '../format/time.ts'
import type { UsageRow } from './pivot.ts'

export type Range = 'week' | 'month' | 'year'
export type Dimension = 'model' | 'key' | 'tag'
type UsageAnswer = Read<'/v1/usage'>

export interface UsageFound {
  readonly answer: UsageAnswer
  readonly rows: readonly UsageRow[]
  readonly range: Range
  readonly by: Dimension
  /** When it was answered, in ISO 8601. */
  readonly readAt: string
}

const DAYS: Readonly<Record<Range, number>> = { week: 7, month: 30, year: 365 }
/** The most groups that one answer has. */
const GROUPS_MAX = 1_000
/** Where the figures are from. */
export const SOURCES: Readonly<Record<Dimension, string>> = {
  model: 'the daily sums of booked receipts (usage_days)',
  key: 'the daily sums of booked receipts (usage_days)',
  tag: 'the sums of booked receipts by tag (usage_tags)',
}

/** Every period that a range has. */
export function periodsOf(range: Range, from: string, to: string): string[] {
  return range === 'year' ? monthsBetween(from, to) : daysBetween(from, to)
}

/** The usage of the caller in one call: by day, or by month for a year. @throws ApiError */
export async function readUsage(
  range: Range,
  by: Dimension,
  isSession: boolean,
  signal: AbortSignal,
): Promise<UsageFound> {
  const now = Date.now()
  const query = {
    ...lastDays(DAYS[range], now),
    group_by: `${range === 'year' ? 'month' : 'day'},${by}`,
    limit: GROUPS_MAX,
  }
  const answer = isSession
    ? await read('/v1/account/usage', query, { signal })
    : await read('/v1/usage', query, { signal })
  return { answer, rows: answer.data.map(rowOf), range, by, readAt: new Date(now).toISOString() }
}

function rowOf(row: UsageAnswer['data'][number]): UsageRow {
  return {
    period: row.month ?? row.day ?? '',
    group: row.model ?? row.key_id ?? tagText(row.tag),
    requests: row.requests,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    units: unitsOf(row.cost.units),
  }
}

function tagText(tag: Readonly<Record<string, string>> | null | undefined): string {
  if (tag === null || tag === undefined) return 'not counted by tag'
  const pairs = Object.entries(tag)
  return pairs.length === 0 ? 'without a tag' : pairs.map(([name, value]) => `${name}=${value}`).join(', ')
}
