import type { Product } from '../../api/product.ts'
import { agentHandlers } from './agentHandlers.ts'
import { approvalHandlers } from './approvalHandlers.ts'
import { approvalRpc } from './approvalRpc.ts'

/** Agents with their own budgets, and approvals of their spending. */
export const AGENTS: Product = {
  name: 'agents',
  make: (parts) => ({
    handlers: { ...agentHandlers(parts), ...approvalHandlers(parts) },
    rpc: approvalRpc(parts.pool, parts.limits),
  }),
}
