import type { Hex } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'
import { intArray, textArray } from '../../../runtime/db/arrays.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { DueReward } from './dueRewards.ts'
import { proofPlaces, type RewardTree } from './rewardTree.ts'

/** The totals of a holder; amounts are nanos of coin. */
export interface HolderTotals {
  readonly earnedNanos: bigint
  readonly paidNanos: bigint
  readonly creditedNanos: bigint
  readonly carriedNanos: bigint
  /** The last period in which it earned, and the amount; number 0 for none. */
  readonly lastNumber: number
  readonly lastNanos: bigint
}

/** A holder's part of a period that was paid or credited. */
export interface HolderShare {
  readonly number: number
  readonly nanos: bigint
  readonly endsAt: Date
  /** Where the leaf is in the tree; null where it was credited to the account of the wallet. */
  readonly node: number | null
  readonly contract: Address | null
  /** The transaction that has claimed it. */
  readonly claim: Hex | null
  readonly isPublished: boolean
}

/** The amounts that holders carry into the next period, by address. */
export async function carriedNanos(db: Queryable): Promise<Map<Address, bigint>> {
  const found = await db.query<{ address: Address; carried: string }>(
    'SELECT address, carried_nanos::text AS carried FROM reward_holders WHERE carried_nanos > 0',
  )
  return new Map(found.rows.map(({ address, carried }) => [address, BigInt(carried)]))
}

/**
 * Stores the rewards of a period by holder.
 * @param accounts that are credited with coin, by address
 */
export async function storeRewards(
  db: Queryable,
  number: number,
  rewards: readonly DueReward[],
  tree: RewardTree | undefined,
  accounts: ReadonlyMap<Address, string>,
): Promise<void> {
  await addToHolders(db, number, rewards, accounts)
  const due = rewards.filter(({ dueNanos }) => dueNanos > 0n)
  await db.query(
    `INSERT INTO reward_shares (number, address, nanos, node, account_id)
     SELECT $1, address, nanos, nullif(node, -1), nullif(account, '')
     FROM unnest($2::text[], $3::bigint[], $4::integer[], $5::text[]) AS s (address, nanos, node, account)`,
    [
      number,
      textArray(due.map(({ address }) => address)),
      intArray(due.map(({ dueNanos }) => dueNanos)),
      intArray(due.map(({ address }) => tree?.places.get(address) ?? -1)),
      textArray(due.map(({ address }) => accounts.get(address) ?? '')),
    ],
  )
  if (tree === undefined) return
  const nodes = Buffer.from(tree.nodes.map((node) => node.slice(2)).join(''), 'hex')
  await db.query('INSERT INTO reward_trees (number, nodes) VALUES ($1, $2)', [number, nodes])
}

async function addToHolders(
  db: Queryable,
  number: number,
  rewards: readonly DueReward[],
  accounts: ReadonlyMap<Address, string>,
): Promise<void> {
  const credited = ({ address, dueNanos }: DueReward): bigint => (accounts.has(address) ? dueNanos : 0n)
  const column = (nanosOf: (reward: DueReward) => bigint) => intArray(rewards.map(nanosOf))
  await db.query(
    `WITH rewards AS (
       SELECT * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) AS r (address, earned, due, credited)
     ), opened AS (
       INSERT INTO reward_holders
         (address, earned_nanos, paid_nanos, credited_nanos, carried_nanos, last_number, last_nanos)
       SELECT address, earned, due - credited, credited, earned - due, $1, earned FROM rewards r
       WHERE NOT EXISTS (SELECT FROM reward_holders h WHERE h.address = r.address)
     )
     UPDATE reward_holders h SET earned_nanos = h.earned_nanos + r.earned, paid_nanos = h.paid_nanos + r.due - r.credited,
       credited_nanos = h.credited_nanos + r.credited, carried_nanos = h.carried_nanos + r.earned - r.due,
       last_number = CASE WHEN r.earned > 0 THEN $1 ELSE h.last_number END,
       last_nanos = CASE WHEN r.earned > 0 THEN r.earned ELSE h.last_nanos END
     FROM rewards r WHERE h.address = r.address`,
    [
      number,
      textArray(rewards.map(({ address }) => address)),
      column(({ earnedNanos }) => earnedNanos),
      column(({ dueNanos }) => dueNanos),
      column(credited),
    ],
  )
}

const NO_TOTALS = { earnedNanos: 0n, paidNanos: 0n, creditedNanos: 0n, carriedNanos: 0n, lastNumber: 0, lastNanos: 0n }

interface TotalsRow {
  readonly earned: string
  readonly paid: string
  readonly credited: string
  readonly carried: string
  readonly last_number: number
  readonly last: string
}

/** The totals of an address. @param address lower case */
export async function holderTotals(db: Queryable, address: Address): Promise<HolderTotals> {
  const found = await db.query<TotalsRow>(
    `SELECT earned_nanos::text AS earned, paid_nanos::text AS paid, credited_nanos::text AS credited,
       carried_nanos::text AS carried, last_number, last_nanos::text AS last
     FROM reward_holders WHERE address = $1`,
    [address],
  )
  const [row] = found.rows
  if (row === undefined) return NO_TOTALS
  return {
    earnedNanos: BigInt(row.earned),
    paidNanos: BigInt(row.paid),
    creditedNanos: BigInt(row.credited),
    carriedNanos: BigInt(row.carried),
    lastNumber: row.last_number,
    lastNanos: BigInt(row.last),
  }
}

/** The amounts paid or credited to an address, newest first. @param address lower case */
export async function holderShares(db: Queryable, address: Address, limit: number): Promise<HolderShare[]> {
  const found = await db.query<Omit<HolderShare, 'nanos'> & { readonly nanos: string }>(
    `SELECT s.number, s.nanos::text AS nanos, p.ends_at AS "endsAt", s.node, o.receiver AS contract, c.hash AS claim,
       EXISTS (SELECT FROM chain_transactions t WHERE t.purpose = 'reward_root' AND t.subject_id = s.number::text
         AND t.state = 'mined') AS "isPublished"
     FROM reward_shares s JOIN revenue_periods p USING (number)
     LEFT JOIN revenue_payouts o ON o.purpose = 'reward' AND o.number = s.number AND s.node IS NOT NULL
     LEFT JOIN reward_claims c ON c.number = s.number AND c.address = s.address
     WHERE s.address = $1 ORDER BY s.number DESC LIMIT $2`,
    [address, limit],
  )
  return found.rows.map((row) => ({ ...row, nanos: BigInt(row.nanos) }))
}

/** The proof of a leaf, from the leaf up, as the distributor takes it. @param place of the leaf in the tree */
export async function rewardProof(db: Queryable, number: number, place: number): Promise<Hex[]> {
  const places = proofPlaces(place)
  const found = await db.query<{ node: string }>(
    `SELECT encode(substring(t.nodes FROM (32 * p.place + 1)::integer FOR 32), 'hex') AS node
     FROM reward_trees t CROSS JOIN unnest($2::integer[]) WITH ORDINALITY AS p (place, step)
     WHERE t.number = $1 ORDER BY p.step`,
    [number, intArray(places)],
  )
  return found.rows.map(({ node }): Hex => `0x${node}`)
}

/** The addresses whose rewards of these periods were credited to accounts, by number. */
export async function creditedAddresses(db: Queryable, numbers: readonly number[]): Promise<Map<number, Address[]>> {
  const found = await db.query<{ number: number; addresses: Address[] }>(
    `SELECT number, array_agg(address ORDER BY address) AS addresses FROM reward_shares
     WHERE number = ANY ($1::bigint[]) AND account_id IS NOT NULL GROUP BY number`,
    [intArray(numbers)],
  )
  return new Map(found.rows.map(({ number, addresses }) => [number, addresses]))
}
