import { GatewayError } from '../../../contract/errors/errors.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { ApiCall, ReadHandler, WriteHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { coinPrice } from '../../catalog/pricing/coinAmounts.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { isOfOwner, namedAgent, ownedAgent } from './agentCaller.ts'
import { type ApprovalStatus, approvalJson, decideApproval, pageOfApprovals } from './approvals.ts'
import type { AgentsLimits } from './limits.ts'

type ApprovalOperation = 'list_approvals' | 'approve' | 'deny'

/** The endpoints of approvals: the agent reads them, its owner decides. */
export function approvalHandlers({
  pool,
  limits,
}: {
  readonly pool: Pool
  limits: AgentsLimits
}): Record<ApprovalOperation, ReadHandler | WriteHandler<unknown>> {
  const decide = (decision: 'approved' | 'denied'): WriteHandler<unknown> => ({
    authorize: async (call, client) => void (await ownedAgent(client, call)),
    write: async (call, client) => {
      const agent = await ownedAgent(client, call)
      const id = approvalId(call)
      const approval = await decideApproval(client, call.actor, agent, id, decision)
      return { json: approvalJson(approval, agent.slug, await coinPrice(client)) }
    },
  })
  return {
    list_approvals: {
      read: async (call) => {
        const agent = await namedAgent(pool, call)
        if (call.accountId !== agent.id && !isOfOwner(call, agent)) throw new GatewayError('permission_denied')
        const { limit, after } = pageOf(call, limits)
        const status = (call.query['status'] ?? 'pending') as ApprovalStatus | 'all'
        const found = await pageOfApprovals(pool, agent.id, status, limit + 1, after)
        const price = await coinPrice(pool)
        return {
          json: listJson(
            found.map((approval) => approvalJson(approval, agent.slug, price)),
            limit,
          ),
        }
      },
    },
    approve: decide('approved'),
    deny: decide('denied'),
  }
}

function approvalId(call: ApiCall): string {
  const id = call.params['id'] ?? ''
  if (!isId('apr', id)) throw new GatewayError('approval_not_found')
  return id
}
