import { paidSql } from '../../../book/ledger/paidCharges.ts'

/**
 * Charged receipts of requests that registered providers served: `r` is the receipt, `a` its terms (the last ones from before
 * its request, else the first), `paid.units` the part of its charge that counts, `d.due_micros` the amount due for it in 1/1000000
 * units. By shares, that is exact; by prices, it is the cost of its tokens, but no more than the part that counts.
 *
 * The part that counts was paid in coin or stablecoin.
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
      SELECT CASE WHEN r.position < (SELECT whole_until FROM provider_cursors c WHERE c.log = r.log) THEN r.charge_units ELSE (
        SELECT coalesce(sum(units), 0) FROM transfers t
        WHERE t.ref = r.request_id AND t.kind = 'charge' AND ${paidSql('t.debit')}
      ) END::numeric AS units
    ) AS paid
    CROSS JOIN LATERAL (
      SELECT CASE WHEN a.share_ppm IS NOT NULL THEN paid.units * a.share_ppm ELSE least(
        paid.units * 1000000,
        (r.input_tokens + r.cache_write_5m_tokens + r.cache_write_1h_tokens)::numeric * a.input_price
          + r.cached_input_tokens::numeric * a.cached_input_price + r.output_tokens::numeric * a.output_price
      ) END AS due_micros
    ) AS d
    WHERE r.provider LIKE 'prov\\_%' AND r.charge_units > 0`
}
