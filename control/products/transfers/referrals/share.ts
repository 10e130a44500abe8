import { REVENUE } from '../../../book/ledger/accounts.ts'
import { type Due, type Earned, type EarningRule, payStretches } from '../../../book/ledger/payEarnings.ts'
import { countAlong } from '../../../book/usagelog/cursors.ts'
import { FIRST_LOG } from '../../../book/usagelog/head.ts'
import type { Stretch } from '../../../book/usagelog/stretches.ts'
import { bookPrice } from '../../../catalog/pricing/coinAmounts.ts'
import { intArray, textArray } from '../../../runtime/db/arrays.ts'
import { type Client, type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import type { TransfersLimits } from '../limits.ts'
import { referredCharges } from './referredCharges.ts'

const WHOLE_BPS = 10_000n

/** Coin charges of a referral within a stretch. */
interface Referred extends Due {
  readonly base: number
}

type Share = Earned<Referred>

const DUE = `
  SELECT f.id, f.referrer_id AS "accountId", f.rest, sum(t.units) AS base
  FROM ${referredCharges('receipts')}
  WHERE r.log = $1 AND r.position >= $2 AND r.position < $3 AND r.charge_units > 0
  GROUP BY f.id HAVING sum(t.units) > 0 ORDER BY f.id`

/**
 * Pays referrers their share of the coin charges in the next stretches of the usage logs, in one transaction with the
 * cursors of the logs: every receipt counts exactly once, even if processes run this concurrently or crash.
 * @returns whether a log has receipts after its stretch
 */
export function payShares(pool: Pool, limits: TransfersLimits): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    // Without referrals there is nothing to count; a new referral begins after the present end of the logs.
    const counts = async () => (await client.query('SELECT FROM referrals LIMIT 1')).rowCount !== 0
    const rule = shareRule(limits.referralShareBps)
    const pay = async (stretches: readonly Stretch[]) => payStretches(client, stretches, await bookPrice(client), rule)
    return countAlong(client, 'referral_cursors', limits.referralBatchMax, counts, pay)
  })
}

const shareRule = (shareBps: number): EarningRule<Referred> => ({
  due: DUE,
  partsOf: ({ base }) => BigInt(base) * BigInt(shareBps),
  whole: WHOLE_BPS,
  note: (client, shares, stretch) => noteShares(client, shares, stretch, shareBps),
  from: (share) => ({ kind: 'referral', ref: shareRef(share), debit: REVENUE }),
})

/** As the audit puts it together as well. Shares of the first log have the form from when there was no other. */
function shareRef({ id, stretch: { log, to } }: Share): string {
  return log === FIRST_LOG ? `${id}:${to}` : `${id}:${log}:${to}`
}

async function noteShares(
  client: Client,
  shares: readonly Share[],
  { log, from, to }: Stretch,
  shareBps: number,
): Promise<void> {
  const values = [
    textArray(shares.map((share) => share.id)),
    intArray(shares.map((share) => share.base)),
    intArray(shares.map((share) => share.units)),
  ]
  await client.query(
    `INSERT INTO referral_shares (referral_id, base_units, units, log, from_position, to_position, share_bps)
     SELECT id, base, units, $4::smallint, $5::bigint, $6::bigint, $7::integer
     FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS s (id, base, units)`,
    [...values, log, from, to, shareBps],
  )
  await client.query(
    `UPDATE referrals AS f SET base_units = f.base_units + s.base, earned_units = f.earned_units + s.units,
       earned_nanos = f.earned_nanos + s.nanos, rest = s.rest
     FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::integer[]) AS s (id, base, units, nanos, rest)
     WHERE f.id = s.id`,
    [...values, intArray(shares.map((share) => share.nanos)), intArray(shares.map((share) => share.newRest))],
  )
}
