/**
 * Charged receipts of requests that registered providers served: `r` is the receipt, `a` its terms (the last ones from before
 * its request, else the first), `d.due_micros` the amount due for it in 1/1000000 units. By shares, that is exact; by prices,
 * it is the cost of its tokens, but no more than its charge.
 * @param receipts names rows of receipts
 * @returns SQL of a FROM clause; conditions follow its WHERE
 */
export function servedReceipts(receipts: string): string {
  return `
    ${receipts} r
    CROSS JOIN LATERAL (
      SELECT * FROM provider_admissions p WHERE p.provider_id = r.provider AND p.model = r.model
      ORDER BY p.from_id <= r.request_id DESC, CASE WHEN p.from_id <= r.request_id THEN p.from_id END DESC, p.from_id LIMIT 1
    ) AS a
    CROSS JOIN LATERAL (
      SELECT CASE WHEN a.share_ppm IS NOT NULL THEN r.charge_units::numeric * a.share_ppm ELSE least(
        r.charge_units::numeric * 1000000,
        (r.input_tokens + r.cache_write_5m_tokens + r.cache_write_1h_tokens)::numeric * a.input_price
          + r.cached_input_tokens::numeric * a.cached_input_price + r.output_tokens::numeric * a.output_price
      ) END AS due_micros
    ) AS d
    WHERE r.provider LIKE 'prov\\_%' AND r.charge_units > 0`
}
