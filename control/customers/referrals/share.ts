import { coinBoughtFor } from '../../../contract/money/coin.ts'
import { coinAccount, REVENUE } from '../../book/ledger/accounts.ts'
import { appendAdmissionEvent, lockAccounts } from '../../book/ledger/appendAdmissionEvent.ts'
import { postTransfers } from '../../book/ledger/postTransfers.ts'
import { bookPrice } from '../../catalog/pricing/coinAmounts.ts'
import type { Limits } from '../../limits.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'

const WHOLE_BPS = 10_000n

/** Coin charges of a referral within a stretch of the usage log. */
interface Due {
  readonly id: string
  readonly referrer_id: string
  readonly base: number
  /** Of a unit, left over from before, in 1/10000. */
  readonly rest: number
}

interface Share extends Due {
  readonly units: number
  /** The coin that is paid for it, in integers of 1e-9 coin. */
  readonly nanos: number
  readonly newRest: number
}

// What an agent is charged counts for the account that it belongs to. What credits or the house bore does not count.
// The transfers of each receipt are looked up by themselves: however many there are, they are never read as a whole.
const DUE = `
  SELECT f.id, f.referrer_id, f.rest, sum(t.units) AS base
  FROM receipts r
  LEFT JOIN agents a ON a.id = r.account_id
  JOIN referrals f ON f.account_id = coalesce(a.owner_id, r.account_id) AND f.from_position <= r.position
  CROSS JOIN LATERAL (
    SELECT sum(units) AS units FROM transfers
    WHERE ref = r.request_id AND kind = 'charge' AND debit = 'coin:' || r.account_id
  ) t
  WHERE r.position >= $1 AND r.position < $2 AND r.charge_units > 0
  GROUP BY f.id HAVING sum(t.units) > 0 ORDER BY f.id`

/**
 * Pays referrers their share of the coin charges in the next stretch of the usage log, in one transaction with the place
 * that is counted up to: every receipt counts exactly once, also when processes do this at once or die.
 * @returns whether the log goes on behind the stretch
 */
export function payShares(pool: Pool, limits: Limits): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    const cursor = await client.query<{ position: number }>('SELECT position FROM referral_cursor FOR UPDATE')
    const head = await client.query<{ size: number; counts: boolean }>(
      'SELECT size, EXISTS (SELECT FROM referrals) AS counts FROM usage_log_head',
    )
    const from = cursor.rows[0]?.position ?? 0
    const { size, counts } = head.rows[0] ?? { size: from, counts: false }
    if (size <= from) return false
    // Without a referral there is nothing to count; one that comes begins behind what is in the log now.
    const to = counts ? Math.min(size, from + limits.referralBatchMax) : size
    if (counts) await payBetween(client, from, to, limits)
    await client.query('UPDATE referral_cursor SET position = $1', [to])
    return to < size
  })
}

async function payBetween(client: Client, from: number, to: number, limits: Limits): Promise<void> {
  const found = await client.query<Due>(DUE, [from, to])
  if (found.rows.length === 0) return
  const price = await bookPrice(client)
  const shares = found.rows.map((due) => shareOf(due, price, limits))
  const paid = shares.filter((share) => share.units > 0)
  await lockAccounts(
    client,
    paid.map((share) => share.referrer_id),
  )
  await noteShares(client, shares, from, to, limits)
  for (const { referrer_id: accountId, nanos } of paid) {
    await appendAdmissionEvent(client, { accountId, coinDelta: nanos })
  }
  // Last, because settlement waits for the row of the revenue; in one statement, which locks in a fixed order.
  const posted = await postTransfers(
    client,
    paid.map(({ id, referrer_id, units, nanos }) => ({
      kind: 'referral',
      ref: `${id}:${to}`,
      debit: REVENUE,
      credit: coinAccount(referrer_id),
      units,
      coinNanos: nanos,
    })),
  )
  if (posted !== paid.length) throw new Error(`shares of referrals up to ${to} were paid before`)
}

/** What is left of a nano when coin is bought for the share goes to nobody. */
function shareOf(due: Due, coinUsdUnits: number, limits: Limits): Share {
  const sum = BigInt(due.base) * BigInt(limits.referralShareBps) + BigInt(due.rest)
  const units = Number(sum / WHOLE_BPS)
  return { ...due, units, nanos: coinBoughtFor(units, coinUsdUnits), newRest: Number(sum % WHOLE_BPS) }
}

async function noteShares(
  client: Client,
  shares: readonly Share[],
  from: number,
  to: number,
  limits: Limits,
): Promise<void> {
  const values = [
    textArray(shares.map((share) => share.id)),
    intArray(shares.map((share) => share.base)),
    intArray(shares.map((share) => share.units)),
  ]
  await client.query(
    `INSERT INTO referral_shares (referral_id, base_units, units, from_position, to_position, share_bps)
     SELECT id, base, units, $4::bigint, $5::bigint, $6::integer
     FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS s (id, base, units)`,
    [...values, from, to, limits.referralShareBps],
  )
  await client.query(
    `UPDATE referrals AS f SET base_units = f.base_units + s.base, earned_units = f.earned_units + s.units,
       earned_nanos = f.earned_nanos + s.nanos, rest = s.rest
     FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::integer[]) AS s (id, base, units, nanos, rest)
     WHERE f.id = s.id`,
    [...values, intArray(shares.map((share) => share.nanos)), intArray(shares.map((share) => share.newRest))],
  )
}
