import { formatUnits, getAddress } from 'viem/utils'
import { FLOW_KINDS } from '../../../../contract/api/chainRoutes.ts'
import { parseTime } from '../../../../contract/api/time.ts'
import { networkOf } from '../../../../contract/payments/address.ts'
import type { ApiCall, ReadHandler } from '../../../api/call.ts'
import { listJson, pageOf } from '../../../api/lists.ts'
import { idBound, idTimeMs } from '../../../book/partitions/idTime.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { PaymentsLimits } from '../limits.ts'
import { type Flow, type FlowQuery, pageOfFlows } from './flows.ts'

const PREFIX = 'flow'
/** Sorts after all ids of flows. */
const LAST = 'flow_~'

/** The public read of movements on the chain; empty without a chain. */
export function flowHandlers(db: Queryable, limits: PaymentsLimits): Record<'list_flows', ReadHandler> {
  return {
    list_flows: {
      read: async (call) => {
        const { limit, after } = pageOf(call, limits)
        const flows = await pageOfFlows(db, queryOf(call, after), limit + 1)
        return { json: listJson(flows.map(flowJson), limit) }
      },
    },
  }
}

function queryOf({ query }: ApiCall, after: string): FlowQuery {
  const kind = FLOW_KINDS.find((known) => known === query['kind'])
  const until = boundOf(query['to']) ?? LAST
  return {
    kind,
    from: boundOf(query['from']) ?? '',
    below: after !== '' && after < until ? after : until,
  }
}

/** Its form is checked by the schema. */
function boundOf(value: unknown): string | undefined {
  const ms = typeof value === 'string' ? parseTime(value) : undefined
  return ms === undefined ? undefined : idBound(ms, PREFIX)
}

function flowJson({ id, kind, chainId, hash, block, confirmations, moved }: Flow) {
  const decimals = moved?.decimals ?? null
  return {
    object: 'flow' as const,
    id,
    kind,
    time: new Date(idTimeMs(id)).toISOString(),
    network: networkOf(chainId),
    transaction: hash,
    block,
    confirmations,
    direction: moved === undefined ? null : moved.isIn ? ('in' as const) : ('out' as const),
    asset: moved === undefined ? null : { address: getAddress(moved.token), symbol: moved.symbol, decimals },
    token_amount: moved === undefined ? null : moved.amount.toString(),
    amount: moved === undefined || decimals === null ? null : formatUnits(moved.amount, decimals),
  }
}
