/**
 * Coin charges that count for referrals: `r` is the receipt, `f` the referral, `t.units` what was charged. What an agent is
 * charged counts for the account that it belongs to; what credits or the house bore does not count. The transfers of each
 * receipt are looked up by themselves: however many there are, they are never read as a whole.
 * @param receipts names rows of receipts
 * @returns SQL of what to select from
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
