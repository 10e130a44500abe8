import type { Invariant } from './check.ts'
import { sumsOf } from './sumTables.ts'

const SUMS = ['requests', 'units', 'input', 'cached', 'output']

/** By day: published sums, waiting sums, and the receipts that are not counted yet. */
const COUNTED = `
  SELECT day, requests, units, input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens AS input,
    cached_input_tokens AS cached, output_tokens AS output
  FROM (SELECT * FROM public_statistics UNION ALL SELECT * FROM (
    SELECT day, model, requests, ok, ended_by_client, failed, units, input_tokens, cached_input_tokens, cache_write_5m_tokens,
      cache_write_1h_tokens, output_tokens, reasoning_tokens, durations, first_tokens FROM waiting_statistics
  ) AS waiting) AS counted
  UNION ALL
  SELECT r.day, 1, r.units, r.input, r.cached, r.output FROM statistics_cursors c CROSS JOIN LATERAL (
    SELECT (held_at_ms / 86400000)::integer AS day, charge_units AS units, cached_input_tokens AS cached,
      input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens AS input, output_tokens AS output
    FROM receipts WHERE log = c.log AND position >= c.position OFFSET 0
  ) AS r`

const sums = SUMS.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')

/**
 * Every receipt counts once in the statistics. The published sums of a day may not exceed the day's usage; they may be less,
 * because some usage is published without its day.
 */
export const statisticsInvariants = (isSinceMark: boolean): readonly Invariant[] => [
  {
    name: 'statistics equal the receipts',
    checked: `SELECT coalesce(sum(requests), 0) || ' requests that are published' FROM public_statistics`,
    faults: `
      WITH counted AS MATERIALIZED (
        SELECT day, ${sums} FROM (${COUNTED}) AS parts GROUP BY day
      ), used AS MATERIALIZED (
        SELECT day, ${sums} FROM (
          SELECT day, requests, units, input_tokens AS input, cached_input_tokens AS cached, output_tokens AS output
          FROM ${sumsOf('usage_days', isSinceMark)} AS days
        ) AS parts GROUP BY day
      )
      SELECT 'counted are ' || c.requests || ' requests of ' || c.units || ', receipts are ' || u.requests || ' of ' || u.units
      FROM (SELECT ${sums} FROM counted) AS c, (SELECT ${sums} FROM used) AS u
      WHERE (c.${SUMS.join(', c.')}) IS DISTINCT FROM (u.${SUMS.join(', u.')})
      UNION ALL
      SELECT 'day ' || day || ' counts ' || c.requests || ' requests of ' || c.units || ', its receipts are ' ||
        coalesce(u.requests, 0) || ' of ' || coalesce(u.units, 0)
      FROM counted c LEFT JOIN used u USING (day)
      WHERE day >= 0 AND (${SUMS.map((name) => `c.${name} > coalesce(u.${name}, 0)`).join(' OR ')})
      UNION ALL
      SELECT 'counted up to ' || c.position || ' of ' || h.size || ' receipts of log ' || c.log
      FROM statistics_cursors c JOIN usage_log_heads h USING (log) WHERE c.position > h.size`,
  },
]
