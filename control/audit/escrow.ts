/**
 * The escrow of transfers of these kinds, by the id of their object, such as a link: nanos of coin, and units where it was kept
 * in US dollars before there was an escrow of coin.
 * @param prefix of the ids of those objects
 * @param kinds whose refs are such an id, or begin with it and a colon
 * @returns SQL of rows (id, nanos, units)
 */
export function escrowBy(prefix: string, ...kinds: readonly string[]): string {
  const own = kinds.map((kind) => `'${kind}'`).join(', ')
  return `
    SELECT split_part(ref, ':', 1) AS id,
      sum(CASE 'escrow_coin' WHEN credit THEN 1 WHEN debit THEN -1 ELSE 0 END * coalesce(coin_nanos, units)) AS nanos,
      sum(CASE 'escrow' WHEN credit THEN 1 WHEN debit THEN -1 ELSE 0 END * units) AS units
    FROM transfers
    WHERE kind IN (${own}) OR (kind = 'denomination' AND starts_with(ref, '${prefix}'))
    GROUP BY 1`
}
