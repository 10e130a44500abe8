import { formatDay } from '../../contract/api/time.ts'
import { formatUsd } from '../../contract/money/units.ts'
import { FIGURES, type Figures, OTHERS } from '../book/statistics/cell.ts'
import { allTokens, readModelSums } from '../book/statistics/publicStatistics.ts'
import type { Sheet } from '../catalog/pricing/sheet.ts'
import { latestSheet } from '../catalog/pricing/sheetStore.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { quotient } from './decimal.ts'
import type { StatisticsLimits } from './limits.ts'
import { type Period, periodOf } from './period.ts'

const LIMIT_USUAL = 20
const GROWTH_PLACES = 6
const DAYS_OF = { day: 1, week: 7, month: 30 } as const

type Measure = 'tokens' | 'charge' | 'requests'
export type RankedBy = Measure | 'growth'
type Sums = Record<keyof Figures, number>

/** A ranked entry, in two periods. */
export interface Ranked {
  readonly id: string
  readonly now: Figures
  readonly before: Figures | undefined
}

const VALUE_OF: Readonly<Record<Measure, (sums: Figures) => number>> = {
  tokens: allTokens,
  charge: ({ units }) => units,
  requests: ({ requests }) => requests,
}

/** GET /v1/rankings. @param query as the schema of the route has checked it */
export async function rankingsJson(
  db: Queryable,
  query: Readonly<Record<string, unknown>>,
  limits: StatisticsLimits,
  nowMs: number = Date.now(),
) {
  const over = (query['over'] ?? 'week') as keyof typeof DAYS_OF
  const by = (query['by'] ?? 'tokens') as RankedBy
  const of = query['of'] === 'makers' ? 'makers' : 'models'
  const limit = Number(query['limit'] ?? Math.min(LIMIT_USUAL, limits.listPageMax))
  const period = periodOf(DAYS_OF[over], query['to'], nowMs)
  const before = { fromDay: period.fromDay - DAYS_OF[over], toDay: period.fromDay - 1 }
  const nameOf = of === 'makers' ? await makersOf(db) : (model: string) => model
  const ranked = rank(await readRanked(db, period, before, nameOf), by)
  return {
    object: 'rankings' as const,
    of,
    by,
    over,
    from: formatDay(period.fromDay),
    to: formatDay(period.toDay),
    before: { from: formatDay(before.fromDay), to: formatDay(before.toDay) },
    accounts_min: limits.statsAccountsMin,
    data: ranked.slice(0, limit).map((entry, i) => rankJson(entry, by, i + 1)),
    has_more: ranked.length > limit,
  }
}

/** Highest first, ties by id. When ranked by growth, new entries are last, those with the most tokens first. */
export function rank(entries: readonly Ranked[], by: RankedBy): Ranked[] {
  const value = VALUE_OF[by === 'growth' ? 'tokens' : by]
  const byId = (a: Ranked, b: Ranked) => (a.id < b.id ? -1 : 1)
  return [...entries].sort((a, b) => {
    const order = by === 'growth' ? compareGrowth(a, b) : 0
    return order || value(b.now) - value(a.now) || byId(a, b)
  })
}

/** By cross products, which are exact. */
function compareGrowth(a: Ranked, b: Ranked): number {
  const [isOldA, isOldB] = [tokensBefore(a) > 0, tokensBefore(b) > 0]
  if (!isOldA || !isOldB) return Number(isOldB) - Number(isOldA)
  const left = BigInt(allTokens(a.now)) * BigInt(tokensBefore(b))
  const right = BigInt(allTokens(b.now)) * BigInt(tokensBefore(a))
  return left === right ? 0 : left > right ? -1 : 1
}

function tokensBefore({ before }: Ranked): number {
  return before === undefined ? 0 : allTokens(before)
}

function rankJson({ id, now, before }: Ranked, by: RankedBy, place: number) {
  const value = VALUE_OF[by === 'growth' ? 'tokens' : by]
  const past = before === undefined ? 0 : value(before)
  return {
    object: 'rank' as const,
    rank: place,
    id,
    requests: now.requests,
    tokens: allTokens(now),
    charge: { units: String(now.units), usd: formatUsd(now.units) },
    growth: past === 0 ? null : quotient(BigInt(value(now)), BigInt(past), GROWTH_PLACES),
    is_new: before === undefined,
  }
}

async function readRanked(
  db: Queryable,
  period: Period,
  before: Period,
  nameOf: (model: string) => string,
): Promise<Ranked[]> {
  const past = groupedSums(await readModelSums(db, before.fromDay, before.toDay), nameOf)
  const present = groupedSums(await readModelSums(db, period.fromDay, period.toDay), nameOf)
  return [...present].map(([id, now]) => ({ id, now, before: past.get(id) }))
}

/** Sums by name. Models that the statistics count together as "others" have no rank. */
function groupedSums(
  rows: ReadonlyArray<Figures & { readonly model: string }>,
  nameOf: (model: string) => string,
): Map<string, Figures> {
  const groups = new Map<string, Sums>()
  for (const row of rows) {
    if (row.model === OTHERS) continue
    const name = nameOf(row.model)
    const sums = groups.get(name) ?? (Object.fromEntries(FIGURES.map((figure) => [figure, 0])) as Sums)
    for (const figure of FIGURES) sums[figure] += row[figure]
    groups.set(name, sums)
  }
  return groups
}

/** The maker of a model: by the price sheet in force, else by the prefix of its id. */
async function makersOf(db: Queryable): Promise<(model: string) => string> {
  const stored = await latestSheet(db)
  const models = stored === undefined ? [] : (JSON.parse(stored.text) as Sheet).models
  const owners = new Map(models.map(({ id, owned_by }) => [id, owned_by]))
  return (model) => owners.get(model) ?? model.split('/', 1)[0] ?? model
}
