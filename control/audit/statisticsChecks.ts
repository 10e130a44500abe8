import type { Invariant } from './check.ts'
import { sumsOf } from './sumTables.ts'

const SUMS = ['requests', 'units', 'input', 'cached', 'output']

/** By day: what is told, what waits, and the receipts that are not counted yet. */
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

const summed = (table: string, more = ''): string =>
  `SELECT ${SUMS.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')} ${more} FROM ${table}`

/**
 * Every receipt counts once in the statistics. By day nothing may be told that was not used on it; there may be less, as some
 * is told without its day.
 */
export const statisticsInvariants = (isSinceMark: boolean): readonly Invariant[] => {
  const used = `(SELECT day, requests, units, input_tokens AS input, cached_input_tokens AS cached, output_tokens AS output
    FROM ${sumsOf('usage_days', isSinceMark)} AS days) AS used`
  return [
    {
      name: 'statistics equal the receipts',
      checked: `SELECT coalesce(sum(requests), 0) || ' requests that are told' FROM public_statistics`,
      faults: `
        SELECT 'counted are ' || c.requests || ' requests of ' || c.units || ', receipts are ' || u.requests || ' of ' || u.units
        FROM (${summed(`(${COUNTED}) AS all_counted`)}) AS c, (${summed(used)}) AS u
        WHERE (c.${SUMS.join(', c.')}) IS DISTINCT FROM (u.${SUMS.join(', u.')})
        UNION ALL
        SELECT 'day ' || day || ' counts ' || c.requests || ' requests of ' || c.units || ', its receipts are ' ||
          coalesce(u.requests, 0) || ' of ' || coalesce(u.units, 0)
        FROM (${summed(`(${COUNTED}) AS all_counted`, ', day')} WHERE day >= 0 GROUP BY day) AS c
        LEFT JOIN (${summed(used, ', day')} GROUP BY day) AS u USING (day)
        WHERE ${SUMS.map((name) => `c.${name} > coalesce(u.${name}, 0)`).join(' OR ')}
        UNION ALL
        SELECT 'counted up to ' || c.position || ' of ' || h.size || ' receipts of log ' || c.log
        FROM statistics_cursors c JOIN usage_log_heads h USING (log) WHERE c.position > h.size`,
    },
  ]
}
