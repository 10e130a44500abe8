import type { Hex } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'
import { textArray } from '../../../runtime/db/arrays.ts'
import { camelColumns, textColumns } from '../../../runtime/db/columns.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { Rests } from './splitRevenue.ts'

/** A period that is closed. Units are 1e-9 USD, nanos 1e-9 coin. */
export interface RevenuePeriod extends Rests {
  readonly number: number
  readonly startsAt: Date
  readonly endsAt: Date
  readonly totalUnits: bigint
  readonly netUnits: bigint
  readonly rewardUnits: bigint
  readonly vaultUnits: bigint
  readonly vaultBps: number
  readonly coinUsdUnits: number
  readonly rewardNanos: bigint
  readonly vaultNanos: bigint
  /** The amount divided among holders: `rewardNanos`, and earlier rewards that had no holder. */
  readonly poolNanos: bigint
  /** All of the pool, or nothing where the token had no holder. */
  readonly earnedNanos: bigint
  readonly paidNanos: bigint
  readonly creditedNanos: bigint
  readonly carriedNanos: bigint
  readonly holders: number
  readonly minNanos: number
  readonly excluded: readonly Address[]
  readonly root: Hex | undefined
}

const EXACT = [
  'totalUnits',
  'netUnits',
  'deficitUnits',
  'rewardUnits',
  'rewardRest',
  'vaultUnits',
  'vaultRest',
  'rewardNanos',
  'vaultNanos',
  'poolNanos',
  'earnedNanos',
  'paidNanos',
  'creditedNanos',
  'carriedNanos',
] as const
type Exact = (typeof EXACT)[number]
type Row = Omit<RevenuePeriod, Exact | 'root'> & Readonly<Record<Exact, string>> & { readonly root: Hex | null }

const COLUMNS = `${camelColumns('number, starts_at, ends_at, vault_bps, coin_usd_units, holders, min_nanos, excluded')},
  ${textColumns(`total_units, net_units, deficit_units, reward_units, reward_rest, vault_units, vault_rest, reward_nanos,
    vault_nanos, pool_nanos, earned_nanos, paid_nanos, credited_nanos, carried_nanos`)}, '0x' || encode(root, 'hex') AS root`

/** Periods, newest first, without the moment from which on revenue counts. @param below the number that all are below */
export async function pageOfPeriods(db: Queryable, limit: number, below: number): Promise<RevenuePeriod[]> {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM revenue_periods WHERE number > 0 AND number < $1 ORDER BY number DESC LIMIT $2`,
    [below, limit],
  )
  return found.rows.map(periodOf)
}

/** The last period that is closed, or the moment from which on revenue counts; undefined before that. */
export async function lastPeriod(db: Queryable): Promise<RevenuePeriod | undefined> {
  const found = await db.query<Row>(`SELECT ${COLUMNS} FROM revenue_periods ORDER BY number DESC LIMIT 1`)
  return found.rows[0] && periodOf(found.rows[0])
}

/** Stores a period. @throws the database error when another control has stored one of this number (23505) */
export async function insertPeriod(db: Queryable, period: RevenuePeriod): Promise<void> {
  const exact = [
    period.totalUnits,
    period.netUnits,
    period.deficitUnits,
    period.rewardUnits,
    period.rewardRest,
    period.vaultUnits,
    period.vaultRest,
    period.vaultBps,
    period.coinUsdUnits,
    period.rewardNanos,
    period.vaultNanos,
    period.poolNanos,
    period.earnedNanos,
    period.paidNanos,
    period.creditedNanos,
    period.carriedNanos,
    period.holders,
    period.minNanos,
  ]
  await db.query(
    `INSERT INTO revenue_periods (number, starts_at, ends_at, excluded, root, total_units, net_units, deficit_units,
       reward_units, reward_rest, vault_units, vault_rest, vault_bps, coin_usd_units, reward_nanos, vault_nanos, pool_nanos,
       earned_nanos, paid_nanos, credited_nanos, carried_nanos, holders, min_nanos)
     VALUES ($1, $2, $3, $4::text[], $5, ${exact.map((_, at) => `$${at + 6}`).join(', ')})`,
    [
      period.number,
      period.startsAt,
      period.endsAt,
      textArray(period.excluded),
      period.root === undefined ? null : Buffer.from(period.root.slice(2), 'hex'),
      ...exact.map(String),
    ],
  )
}

function periodOf(row: Row): RevenuePeriod {
  const exact = Object.fromEntries(EXACT.map((name) => [name, BigInt(row[name])])) as Record<Exact, bigint>
  return { ...row, ...exact, root: row.root ?? undefined }
}
