import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { ApiCall, ReadHandler, WriteHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { refuseTooMany } from '../../book/ledger/refuseTooMany.ts'
import { replaceSecret } from '../../identity/keys/keys.ts'
import { settingsJson } from '../../identity/keys/settingsJson.ts'
import { recordActivity } from '../../runtime/activity/activity.ts'
import { announceKeyChanges } from '../../runtime/bus/announceKeyChanges.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { isOfOwner, namedAgent, ownedAgent, requireOwnerCredential } from './agentCaller.ts'
import { agentKeyJson, agentSettingsJson, ownAgentJson, publicAgentJson } from './agentJson.ts'
import type { AgentParts } from './agentParts.ts'
import { type Agent, countAgents, createAgent, noteIssued, pageOfAgents, updateAgent } from './agents.ts'
import { Leaderboard } from './leaderboard.ts'
import { moneyHandlers } from './moneyHandlers.ts'
import { readAgentSettings, readSlug } from './readAgentSettings.ts'

type AgentOperation =
  | ('list_agents' | 'create_agent' | 'get_agent' | 'update_agent' | 'issue_agent_key' | 'get_leaderboard')
  | ('fund_agent' | 'pay_from_agent')

/** The endpoints of agents. */
export function agentHandlers(parts: AgentParts): Record<AgentOperation, ReadHandler | WriteHandler<unknown>> {
  const { pool, redis, applyToAdmission } = parts
  const leaderboard = new Leaderboard(pool, parts.limits)
  return {
    ...moneyHandlers(parts),
    list_agents: {
      read: async (call) => {
        requireOwnerCredential(call)
        const { limit, after } = pageOf(call, parts.limits)
        const agents = await pageOfAgents(pool, call.accountId, limit + 1, after)
        const data = await Promise.all(agents.map((agent) => ownAgentJson(pool, redis, agent)))
        return { json: listJson(data, limit) }
      },
    },
    create_agent: {
      authorize: async (call) => requireOwnerCredential(call),
      write: async (call, client) => {
        requireOwnerCredential(call)
        const slug = readSlug(call.body)
        const { settings, policy } = await readAgentSettings(client, call.body, parts.limits)
        const max = parts.limits.agentsPerAccountMax
        const refusal = () => invalidRequest(`An account has at most ${max} agents.`)
        await refuseTooMany(client, call.accountId, countAgents, max, refusal)
        const agent = await createAgent(client, call.accountId, slug, settings, policy)
        await note(client, call, agent, 'agent.created', {
          slug,
          ...agentSettingsJson(settings),
          ...settingsJson(policy),
        })
        const json = await ownAgentJson(client, redis, agent)
        return { status: 201, json, afterCommit: () => applyToAdmission([agent.id]) }
      },
    },
    get_agent: {
      read: async (call) => {
        const agent = await namedAgent(pool, call)
        const isOwn = call.accountId === agent.id || isOfOwner(call, agent)
        return { json: isOwn ? await ownAgentJson(pool, redis, agent) : publicAgentJson(agent) }
      },
    },
    update_agent: {
      authorize: async (call, client) => void (await ownedAgent(client, call)),
      write: async (call, client) => {
        const agent = await ownedAgent(client, call)
        const { settings, policy } = await readAgentSettings(client, call.body, parts.limits)
        const changed = await updateAgent(client, agent, settings, policy)
        await note(client, call, agent, 'agent.updated', { ...agentSettingsJson(settings), ...settingsJson(policy) })
        return {
          json: await ownAgentJson(client, redis, changed),
          afterCommit: () => announceKeyChanges(pool, redis, parts.limits),
        }
      },
    },
    issue_agent_key: {
      authorize: async (call, client) => void (await ownedAgent(client, call)),
      write: async (call, client) => {
        const agent = await ownedAgent(client, call)
        const { key, secret } = await replaceSecret(client, agent.keyId)
        const json = agentKeyJson(await noteIssued(client, agent), key)
        await note(client, call, agent, 'agent.key_issued', { last4: key.last4 })
        return {
          status: 201,
          json: { ...json, api_key: secret },
          repeatJson: { ...json, api_key: null },
          afterCommit: () => announceKeyChanges(pool, redis, parts.limits),
        }
      },
    },
    get_leaderboard: {
      read: async ({ query }) => ({
        json: await leaderboard.read(Number(query['days'] ?? 30), Number(query['limit'] ?? 20)),
      }),
    },
  }
}

/** Records a change of an agent in the activity of its owner. */
async function note(client: Client, call: ApiCall, agent: Agent, type: string, details: object): Promise<void> {
  const change = { accountId: agent.ownerId, type, target: agent.id, details: { ...details } }
  await recordActivity(client, call.actor, [change])
}
