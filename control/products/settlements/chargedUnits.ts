import { paidSql } from '../../book/ledger/paidCharges.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { SettlementsLimits } from './limits.ts'

/**
 * The assets that pay charges: coin of accounts and of payments, stablecoin of payments, free credits, and the house, which
 * bears charges that admission let pass and the book could not cover.
 */
const CHARGED_ASSETS = ['coin', 'stablecoin', 'credits', 'house'] as const
export type ChargedAsset = (typeof CHARGED_ASSETS)[number]

/** The places of receipts in one log, from the first up to but without the last. */
export interface LogRange {
  readonly log: number
  readonly from: number
  readonly until: number
}

interface Row {
  readonly receipts: number
  readonly charged: Array<{ asset: ChargedAsset; units: string }> | null
}

/** Transfers are looked up receipt by receipt: the server would put all there are into a hash table. */
const CHARGED = `
  WITH r AS MATERIALIZED (
    SELECT request_id, key_id LIKE 'payer\\_%' AS is_paid FROM receipts
    WHERE log = $1 AND position >= $2 AND position < $3
  ), charged AS (
    SELECT CASE WHEN NOT ${paidSql('t.debit')} THEN CASE t.debit WHEN 'house' THEN 'house' ELSE 'credits' END
      WHEN r.is_paid THEN coalesce((SELECT asset FROM payments p WHERE p.id = r.request_id), 'coin')
      ELSE 'coin' END AS asset, t.units
    FROM r CROSS JOIN LATERAL (
      SELECT debit, units FROM transfers WHERE ref = r.request_id AND kind = 'charge' OFFSET 0
    ) AS t
  )
  SELECT (SELECT count(*) FROM r) AS receipts,
    (SELECT json_agg(json_build_object('asset', asset, 'units', units)) FROM
      (SELECT asset, sum(units)::text AS units FROM charged GROUP BY asset) AS sums) AS charged`

/**
 * Adds up the charges of receipts, in units by paying asset, a bounded number of receipts at a time.
 * @throws Error when receipts of the ranges are missing because they were archived meanwhile; errors of PostgreSQL
 */
export async function chargedUnits(
  db: Queryable,
  ranges: readonly LogRange[],
  limits: Pick<SettlementsLimits, 'settlementSumReceipts'>,
): Promise<Map<ChargedAsset, bigint>> {
  const sums = new Map<ChargedAsset, bigint>(CHARGED_ASSETS.map((asset) => [asset, 0n]))
  for (const { log, from, until } of ranges) {
    for (let next = from; next < until; next += limits.settlementSumReceipts) {
      const end = Math.min(next + limits.settlementSumReceipts, until)
      const found = await db.query<Row>(CHARGED, [log, next, end])
      const { receipts = 0, charged } = found.rows[0] ?? {}
      if (receipts !== end - next) throw new Error(`log ${log} has ${receipts} receipts from ${next} to ${end}`)
      for (const { asset, units } of charged ?? []) sums.set(asset, (sums.get(asset) ?? 0n) + BigInt(units))
    }
  }
  return sums
}

/** An agent counts as the account that it belongs to. */
const OWNERS = `
  SELECT DISTINCT coalesce(a.owner_id, r.account_id) AS owner
  FROM receipts r LEFT JOIN agents a ON a.id = r.account_id
  WHERE r.log = $1 AND r.position >= $2 AND r.position < $3 AND r.charge_units > 0 LIMIT $4`

/** Whether charged receipts of some places are of enough accounts. */
export async function hasAccounts(db: Queryable, ranges: readonly LogRange[], least: number): Promise<boolean> {
  if (least <= 1) return true
  const owners = new Set<string>()
  for (const { log, from, until } of ranges) {
    if (owners.size >= least) return true
    if (from === until) continue
    const found = await db.query<{ owner: string }>(OWNERS, [log, from, until, least])
    for (const { owner } of found.rows) owners.add(owner)
  }
  return owners.size >= least
}
