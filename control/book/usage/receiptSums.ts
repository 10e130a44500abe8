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
