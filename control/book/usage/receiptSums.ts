/**
 * Sums of receipts by day, with the columns of usage_days.
 * @param receipts names rows of receipts
 * @returns SQL of rows (account_id, day, key_id, model, requests, units, input_tokens, cached_input_tokens, output_tokens)
 */
export function daysOf(receipts: string): string {
  return `
    SELECT account_id, (held_at_ms / 86400000)::integer, key_id, model, count(*), sum(charge_units),
      sum(input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens),
      sum(cached_input_tokens), sum(output_tokens)
    FROM ${receipts} GROUP BY 1, 2, 3, 4`
}

/**
 * Sums of receipts by hour, burnt tokens included, as admission counts them in its windows.
 * @param receipts names rows of receipts
 * @returns SQL of rows (key_id, hour, units, requests)
 */
export function hoursOf(receipts: string): string {
  return `
    SELECT key_id, (held_at_ms / 3600000)::integer, sum(charge_units + lock_units), count(*)
    FROM ${receipts} GROUP BY 1, 2`
}

/** SQL of how the request of a receipt has ended: its error code; where it has none, its status. */
export const OUTCOME = `coalesce(nullif(error_code, ''), status)`

/**
 * Sums of receipts by day, with the columns of usage_outcomes.
 * @param receipts names rows of receipts
 * @returns SQL of rows (account_id, day, model, provider, outcome, requests, units, input_tokens, cached_input_tokens, output_tokens)
 */
export function outcomesOf(receipts: string): string {
  return `
    SELECT account_id, (held_at_ms / 86400000)::integer AS day, model, provider, ${OUTCOME} AS outcome,
      count(*) AS requests, sum(charge_units) AS units,
      sum(input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens) AS input_tokens,
      sum(cached_input_tokens) AS cached_input_tokens, sum(output_tokens) AS output_tokens
    FROM ${receipts} r GROUP BY 1, 2, 3, 4, 5`
}

/**
 * Sums of receipts of all accounts by hour, with the columns of usage_hours.
 * @param receipts names rows of receipts
 * @returns SQL of rows (hour, provider, model, outcome, requests, units, input_tokens, cached_input_tokens, output_tokens,
 * cache_write_tokens, reasoning_tokens)
 */
export function hourSumsOf(receipts: string): string {
  return `
    SELECT (held_at_ms / 3600000)::integer AS hour, provider, model, ${OUTCOME} AS outcome, count(*) AS requests,
      sum(charge_units) AS units,
      sum(input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens) AS input_tokens,
      sum(cached_input_tokens) AS cached_input_tokens, sum(output_tokens) AS output_tokens,
      sum(cache_write_5m_tokens + cache_write_1h_tokens) AS cache_write_tokens, sum(reasoning_tokens) AS reasoning_tokens
    FROM ${receipts} r GROUP BY 1, 2, 3, 4`
}

/** The characters of a value that its sums are found by; a longer one would not fit into an index. */
export const TAG_CHARACTERS_MAX = 2_048

/**
 * Sums of receipts by tag and user, of hours and of days. A value without a row in usage_tags counts under '' where others of its
 * period were added up there, because no value gets a row from then on; else it keeps its name.
 * @param receipts names rows of receipts
 * @returns SQL of rows (account_id, kind, hours, period, value, requests, units, input_tokens, cached_input_tokens, output_tokens)
 */
export function tagSumsOf(receipts: string): string {
  const row = (name: string, value: string): string => `
    LEFT JOIN usage_tags ${name} ON ${name}.account_id = r.account_id AND ${name}.kind = v.kind AND ${name}.hours = s.hours
      AND ${name}.period = r.held_at_ms / (3600000 * s.hours) AND ${name}.value = ${value}`
  return `
    SELECT r.account_id, v.kind, s.hours, (r.held_at_ms / (3600000 * s.hours))::integer AS period,
      coalesce(u.value, others.value, left(v.whole, ${TAG_CHARACTERS_MAX})) AS value, count(*) AS requests,
      sum(r.charge_units) AS units,
      sum(r.input_tokens + r.cached_input_tokens + r.cache_write_5m_tokens + r.cache_write_1h_tokens) AS input_tokens,
      sum(r.cached_input_tokens) AS cached_input_tokens, sum(r.output_tokens) AS output_tokens
    FROM ${receipts} r CROSS JOIN LATERAL (
      SELECT 'user' AS kind, r.end_user AS whole WHERE r.end_user <> ''
      UNION ALL SELECT 'tag', tag FROM unnest(string_to_array(nullif(r.tags, ''), ',')) AS tag
    ) AS v CROSS JOIN (VALUES (1), (24)) AS s (hours)${row('u', `left(v.whole, ${TAG_CHARACTERS_MAX})`)}${row('others', "''")}
    WHERE r.tags_hash <> '' GROUP BY 1, 2, 3, 4, 5`
}

/** Up to where sums have the receipts of each log: the table and its column. */
const CURSORS = {
  usage_tags: ['statistics_cursors', 'position'],
  usage_outcomes: ['usage_outcome_cursors', 'position'],
  usage_hours: ['statistics_cursors', 'hours_position'],
} as const

/**
 * Receipts that are not in their sums yet: those with tags or a user for usage_tags, all for the others.
 * @param where which of them, by `c.log` and columns of `r`
 * @returns SQL of a table of rows of receipts
 */
export function uncountedReceipts(sums: 'usage_tags' | 'usage_outcomes' | 'usage_hours', where: string): string {
  const [cursors, position] = CURSORS[sums]
  const counted = sums === 'usage_tags' ? `AND tags_hash <> ''` : ''
  return `(
    SELECT r.* FROM ${cursors} c CROSS JOIN LATERAL (
      SELECT * FROM receipts WHERE log = c.log AND position >= c.${position} ${counted} OFFSET 0
    ) AS r WHERE ${where}
  )`
}
