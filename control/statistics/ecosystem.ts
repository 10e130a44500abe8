import { DAY_MS } from '../../contract/api/time.ts'
import { lastCheckpoint } from '../book/checkpoint/checkpointReads.ts'
import { HEADS_LOG } from '../book/usagelog/head.ts'
import type { Sheet } from '../catalog/pricing/sheet.ts'
import { latestSheet } from '../catalog/pricing/sheetStore.ts'
import { shownIncidents } from '../catalog/status/incidents.ts'
import { shownDays } from '../catalog/status/observedDays.ts'
import { Leaderboard } from '../products/agents/leaderboard.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { quotient } from './decimal.ts'
import { indexJson } from './indexJson.ts'
import type { StatisticsLimits } from './limits.ts'
import { at } from './pointer.ts'
import type { PriceIndexes } from './priceIndex.ts'
import { statsJson } from './stats.ts'
import { uptimeOf } from './uptime.ts'

const RECENT_DAYS = 30
const UPTIME_PLACES = 4

/** A figure to quote. */
export interface SiteFigure {
  readonly object: 'figure'
  readonly name: string
  readonly value: unknown
  readonly unit: string
  /** The endpoint that reports it. */
  readonly source: string
  /** Its JSON Pointer in that answer (RFC 6901); null where it is counted, as `how` describes. */
  readonly pointer: string | null
  readonly how: string
  /** Whether usage is missing from it, as `how` describes. */
  readonly left_out: boolean
}

interface Parts {
  readonly db: Queryable
  readonly indexes: PriceIndexes
  readonly limits: StatisticsLimits
  readonly nowMs: number
}

/** GET /v1/ecosystem: each figure is taken from the answer of its source. */
export async function ecosystemJson(db: Queryable, indexes: PriceIndexes, limits: StatisticsLimits) {
  const parts = { db, indexes, limits, nowMs: Date.now() }
  const groups = await Promise.all(
    [usageFigures, catalogFigures, indexFigures, uptimeFigures, agentFigures, logFigures].map((read) => read(parts)),
  )
  return { object: 'list' as const, data: groups.flat(), has_more: false }
}

/** Figures that are copied from an answer. */
function quoted(
  source: string,
  answer: unknown,
  rows: ReadonlyArray<readonly [name: string, unit: string, pointer: string, how: string]>,
  isLeftOut = false,
): SiteFigure[] {
  return rows.map(([name, unit, pointer, how]) => {
    return { object: 'figure', name, value: at(answer, pointer), unit, source, pointer, how, left_out: isLeftOut }
  })
}

async function usageFigures({ db, limits, nowMs }: Parts): Promise<SiteFigure[]> {
  const days = Math.min(RECENT_DAYS, limits.statsDaysMax)
  const stats = await statsJson(db, { days }, limits, nowMs)
  const source = `/v1/stats?days=${days}`
  const rest = `; usage of fewer than ${limits.statsAccountsMin} accounts is left out until more join it`
  const rows = (
    [
      ['requests_published', 'requests', '/all_time/requests', 'since the gateway began'],
      ['tokens_total', 'tokens', '/all_time/tokens/total', 'since the gateway began, of all classes'],
      ['charge_total', 'USD', '/all_time/charge/usd', 'since the gateway began'],
      ['requests_recent', 'requests', '/total/requests', `in the last ${days} days, today included`],
      ['tokens_recent', 'tokens', '/total/tokens/total', `in the last ${days} days, of all classes`],
      ['charge_recent', 'USD', '/total/charge/usd', `in the last ${days} days`],
      ['success_rate', 'ratio', '/total/success_rate', `in the last ${days} days`],
      ['latency_p50', 'ms', '/total/latency_ms/p50', `in the last ${days} days, at most`],
      ['first_token_p50', 'ms', '/total/first_token_ms/p50', `in the last ${days} days, at most`],
    ] as const
  ).map(([name, unit, pointer, how]) => [name, unit, pointer, how + rest] as const)
  return [await requestsFigure(db), ...quoted(source, stats, rows, true)]
}

/** All receipts: the signed heads of the usage logs show how many there are, so that nothing is left out. */
async function requestsFigure(db: Queryable): Promise<SiteFigure> {
  const found = await db.query<{ size: number }>(
    'SELECT coalesce(sum(size), 0) AS size FROM usage_log_heads WHERE log <> $1',
    [HEADS_LOG],
  )
  const how = 'entries of all usage logs since the gateway began: each request that took a hold, however it ended'
  const value = found.rows[0]?.size ?? 0
  return counted('requests_total', value, 'requests', '/v1/log/checkpoints?limit=1', how)
}

/** A figure that is counted from the answer of its source. */
function counted(name: string, value: unknown, unit: string, source: string, how: string): SiteFigure {
  return { object: 'figure', name, value, unit, source, pointer: null, how, left_out: false }
}

async function catalogFigures({ db }: Parts): Promise<SiteFigure[]> {
  const stored = await latestSheet(db)
  const models = stored === undefined ? [] : (JSON.parse(stored.text) as Sheet).models
  const providers = new Set(models.flatMap(({ routes }) => routes.map(({ provider }) => provider)))
  const makers = new Set(models.map(({ owned_by }) => owned_by))
  const source = '/v1/pricing'
  return [
    counted('models', models.length, 'models', source, 'entries of models'),
    counted('makers', makers.size, 'makers', source, 'different owned_by of models'),
    counted('providers', providers.size, 'providers', source, 'different provider of the routes of models'),
  ]
}

async function indexFigures({ indexes, limits, nowMs }: Parts): Promise<SiteFigure[]> {
  const answer = await indexJson(indexes, { days: 1 }, limits, nowMs)
  if (answer.data.length === 0) return []
  return quoted('/v1/index?days=1', answer, [
    ['price_index', 'index', '/data/0/value', 'what the basket costs today, 100 on its base day'],
  ])
}

async function uptimeFigures({ db, limits, nowMs }: Parts): Promise<SiteFigure[]> {
  const [seen, incidents] = await Promise.all([shownDays(db, limits), shownIncidents(db, limits)])
  const { days, operational } = uptimeOf(seen, incidents, Math.floor(nowMs / DAY_MS))
  const value = days === 0 ? null : quotient(BigInt(operational), BigInt(days), UPTIME_PLACES)
  const how = 'days before today whose status is operational, of all days before today'
  return [counted('uptime', value, 'ratio', '/v1/status/history', how)]
}

async function agentFigures({ db, limits }: Parts): Promise<SiteFigure[]> {
  const days = Math.min(RECENT_DAYS, limits.leaderboardDaysMax)
  const { data } = await new Leaderboard(db, limits).read(days, limits.listPageMax)
  const source = `/v1/agents/leaderboard?days=${days}&limit=${limits.listPageMax}`
  const how = `entries of data: agents that were used in the last ${days} days, at most ${limits.listPageMax}`
  return [counted('agents_active', data.length, 'agents', source, how)]
}

async function logFigures({ db }: Parts): Promise<SiteFigure[]> {
  const last = await lastCheckpoint(db)
  if (last === undefined) return []
  return quoted('/v1/log/checkpoints?limit=1', { data: [{ size: last.size }] }, [
    ['log_heads', 'entries', '/data/0/size', 'signed heads of usage logs in the log of heads'],
  ])
}
