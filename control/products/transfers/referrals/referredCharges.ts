/**
 * Coin charges that count for referrals: `r` is the receipt, `f` the referral, `t.units` the charge. An agent's charges count
 * for the account that owns it; charges paid by credits or the house do not count. The transfers are looked up receipt by
 * receipt, so that the whole table is never read.
 * @param receipts names rows of receipts
 * @returns SQL of a FROM clause
 */
export function referredCharges(receipts: string): string {
  return `
    ${receipts} r
    LEFT JOIN agents a ON a.id = r.account_id
    JOIN referrals f ON f.account_id = coalesce(a.owner_id, r.account_id) AND f.from_positions[r.log + 1] <= r.position
    CROSS JOIN LATERAL (
      SELECT units FROM transfers WHERE ref = r.request_id AND kind = 'charge' AND debit = 'coin:' || r.account_id OFFSET 0
    ) AS t`
}
