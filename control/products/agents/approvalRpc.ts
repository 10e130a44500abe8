import type { sluice } from '../../../contract/wire/generated/messages.js'
import type { RpcHandlers } from '../../runtime/bus/rpcOperations.ts'
import { type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { approvalAsked, askApproval, releaseApproval, useApproval, type Wanted } from './approvals.ts'
import type { AgentsLimits } from './limits.ts'

function wantedOf({ agentId, endpoint, model, bodyHash }: sluice.ApprovalRequest): Wanted {
  return { agentId, subject: 'request', endpoint, model, bodyHash }
}

/** The proxies' calls about approvals, for requests of agents that are above their threshold. */
export function approvalRpc(
  pool: Pool,
  limits: AgentsLimits,
): Pick<RpcHandlers, 'ask_approval' | 'use_approval' | 'release_approval'> {
  return {
    ask_approval: (request) =>
      withTransaction(pool, async (client) => {
        const { wantUnits: units, requestId } = request
        const approval = await askApproval(client, { ...wantedOf(request), units, requestId }, limits)
        const found = await client.query<{ slug: string }>('SELECT slug FROM agents WHERE id = $1', [request.agentId])
        return JSON.stringify(await approvalAsked(client, approval, found.rows[0]?.slug ?? ''))
      }),
    use_approval: (request) =>
      withTransaction(pool, async (client) => {
        const { approvalId, leastUnits, requestId } = request
        return { units: await useApproval(client, approvalId, wantedOf(request), leastUnits, requestId) }
      }),
    release_approval: async ({ approvalId, requestId }) => {
      await releaseApproval(pool, approvalId, requestId)
      return {}
    },
  }
}
