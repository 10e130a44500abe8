import { DAY_MS } from '../../../contract/api/time.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { AgentsLimits } from './limits.ts'

interface RankRow {
  readonly slug: string
  readonly name: string
  readonly requests: number
  readonly tokens: number
}

interface Kept {
  readonly untilMs: number
  readonly rows: Promise<RankRow[]>
}

const RANKS = `
  SELECT a.slug, c.name, sum(u.requests) AS requests, sum(u.input_tokens + u.output_tokens) AS tokens
  FROM agents a JOIN accounts c ON c.id = a.id JOIN usage_days u ON u.account_id = a.id AND u.day >= $1
  GROUP BY a.id, c.name ORDER BY requests DESC, tokens DESC, a.slug LIMIT $2`

/** Agents by their requests. This read is public, so results are cached for a few seconds. */
export class Leaderboard {
  private readonly db: Queryable
  /** By the number of days, which has few possible values. */
  private readonly kept = new Map<number, Kept>()
  private readonly limits: AgentsLimits

  constructor(db: Queryable, limits: AgentsLimits) {
    this.limits = limits
    this.db = db
  }

  /** @param days how many days up to today */
  async read(days: number, limit: number) {
    const rows = (await this.rows(days)).slice(0, limit + 1)
    const data = rows.slice(0, limit).map((row, i) => ({
      object: 'agent_rank' as const,
      rank: i + 1,
      slug: row.slug,
      name: row.name,
      requests: row.requests,
      tokens: row.tokens,
    }))
    return { object: 'list' as const, days, data, has_more: rows.length > limit }
  }

  private rows(days: number): Promise<RankRow[]> {
    const nowMs = Date.now()
    const kept = this.kept.get(days)
    if (kept !== undefined && kept.untilMs > nowMs) return kept.rows
    const firstDay = Math.floor(nowMs / DAY_MS) - days + 1
    const rows = this.db.query<RankRow>(RANKS, [firstDay, this.limits.listPageMax + 1]).then((found) => found.rows)
    this.kept.set(days, { untilMs: nowMs + this.limits.leaderboardKeptMs, rows })
    rows.catch(() => this.kept.delete(days))
    return rows
  }
}
