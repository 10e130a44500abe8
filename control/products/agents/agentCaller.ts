import { GatewayError } from '../../../contract/errors/errors.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { ApiCall } from '../../api/call.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { type Agent, agentBySlug, lockAgent } from './agents.ts'

/** Whether the caller is an agent, with the agent's own key. */
export const isAgent = (call: ApiCall): boolean => isId('agt', call.accountId)

/** Whether the caller is of the account that the agent belongs to; the sub-keys of its platforms are of their users. */
export function isOfOwner({ caller, accountId }: ApiCall, agent: Agent): boolean {
  return accountId === agent.ownerId && !(caller.kind === 'key' && caller.isSubKey)
}

/** The agent that the path names. @throws GatewayError agent_not_found */
export async function namedAgent(db: Queryable, call: ApiCall): Promise<Agent> {
  const agent = await agentBySlug(db, call.params['slug'] ?? '')
  if (agent === undefined) throw new GatewayError('agent_not_found')
  return agent
}

/**
 * Rejects callers that may not manage the account's agents: agents, and keys with their own bounds, which could evade
 * those bounds through an agent.
 * @throws GatewayError permission_denied
 */
export function requireOwnerCredential(call: ApiCall): void {
  if (isAgent(call)) {
    throw new GatewayError('permission_denied', { message: "This takes a credential of the agent's owner." })
  }
  if (call.caller.kind === 'key' && call.caller.isRestricted) {
    const message =
      'A key with caps, a budget, a rate, allowlists, privacy settings or an expiry, or without can_transfer, cannot ' +
      'manage agents; use a session or another key.'
    throw new GatewayError('permission_denied', { message })
  }
}

/** Refuses a key that may not move coin. @throws GatewayError permission_denied */
export function requireTransferRight({ caller }: ApiCall): void {
  if (caller.kind !== 'key' || caller.canTransfer) return
  const message = 'This key may not move coin: its can_transfer is false. Use a session or another key.'
  throw new GatewayError('permission_denied', { message })
}

/** The agent that the path names, for its owner; its row is locked. @throws GatewayError agent_not_found, permission_denied */
export async function ownedAgent(client: Client, call: ApiCall): Promise<Agent> {
  const agent = await lockAgent(client, call.params['slug'] ?? '')
  if (agent === undefined) throw new GatewayError('agent_not_found')
  requireOwnerCredential(call)
  if (agent.ownerId !== call.accountId) throw new GatewayError('permission_denied')
  return agent
}
