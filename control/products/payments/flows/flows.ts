import type { FlowKind } from '../../../../contract/api/chainRoutes.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/** A movement on the chain with enough confirmations. It does not name the payer or the recipient. */
export interface Flow {
  /** Sorts by when the gateway recorded it. */
  readonly id: string
  readonly kind: FlowKind
  readonly chainId: number
  readonly hash: string
  readonly block: number
  /** Blocks that it is deep, its own counted, when transfers were read last. */
  readonly confirmations: number
  /** Absent where no tokens move. */
  readonly moved?: {
    readonly token: Address
    readonly symbol: string | null
    readonly decimals: number | null
    /** Atomic units. */
    readonly amount: bigint
    /** Towards the treasury. */
    readonly isIn: boolean
  }
}

/** Selects flows; ids are those of flows, or prefixes of such ids. */
export interface FlowQuery {
  readonly kind: FlowKind | undefined
  /** The least id. */
  readonly from: string
  /** All ids are below this one. */
  readonly below: string
}

type Row = Omit<Flow, 'moved'> & {
  readonly token: Address | null
  readonly symbol: string | null
  readonly decimals: number | null
  readonly amount: string | null
  readonly isIn: boolean | null
}

const partOf = (table: string, condition: string): string => `(
  SELECT flow_id, purpose, hash, block_number, token, amount, transfer_to FROM ${table}
  WHERE flow_id >= $1 AND flow_id < $2 ${condition} ORDER BY flow_id DESC LIMIT $3)`

/** Each table is read by its own index, no further than one page. */
const pageText = (kind: string): string => `
  SELECT f.flow_id AS id, f.purpose AS kind, i.chain_id AS "chainId", f.hash, f.block_number AS block,
    greatest(coalesce(i.head_block, f.block_number) - f.block_number + 1, 1) AS confirmations,
    f.token, o.symbol, o.decimals, f.amount::text AS amount, f.transfer_to = i.treasury AS "isIn"
  FROM (${partOf('chain_transactions', kind)} UNION ALL ${partOf('chain_transfers', `AND equals > 0 ${kind}`)}) f
  CROSS JOIN chain_identity i LEFT JOIN chain_openings o ON o.token = f.token
  ORDER BY f.flow_id DESC LIMIT $3`

const PAGE = pageText('')
const PAGE_OF_KIND = pageText('AND purpose = $4')

/** Movements, newest first. @throws errors of PostgreSQL */
export async function pageOfFlows(db: Queryable, { kind, from, below }: FlowQuery, limit: number): Promise<Flow[]> {
  const values = [from, below, limit]
  const found = await db.query<Row>(
    kind === undefined ? PAGE : PAGE_OF_KIND,
    kind === undefined ? values : [...values, kind],
  )
  return found.rows.map(flowOf)
}

function flowOf({ token, symbol, decimals, amount, isIn, ...flow }: Row): Flow {
  if (token === null || amount === null) return flow
  return { ...flow, moved: { token, symbol, decimals, amount: BigInt(amount), isIn: isIn === true } }
}
