import type { ContractLimits } from '../limits/limits.ts'
import { coinAmount, pageAfter, pageLimit, text, usdOrNone } from './fields.ts'
import { keySettings } from './keyRoutes.ts'
import { type ApiRoute, type JsonSchema, members } from './route.ts'

/** The settings of an agent that its owner controls. */
function settingsOf(limits: ContractLimits): Readonly<Record<string, JsonSchema>> {
  const { expires_at: _, platform: __, ...policy } = keySettings(limits)
  return {
    ...policy,
    description: text('a text of at most 1,000 characters, which everybody can read', 1_000),
    request_cap: usdOrNone('the most that one request or payment may cost at worst'),
    approval_threshold: usdOrNone('above which cost at worst a request or payment waits for the owner'),
  }
}

const SLUG: JsonSchema = {
  type: 'string',
  minLength: 3,
  maxLength: 40,
  pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$',
  description: '3 to 40 lower case letters, digits and single hyphens, beginning with a letter',
}

const NOTE = text('a text of at most 200 characters', 200)

/** Agents, each with its own coin, key and policy. */
export const agentRoutes = (limits: ContractLimits) =>
  ({
    list_agents: {
      method: 'GET',
      path: '/v1/agents',
      auth: 'key_or_session',
      summary: "List the account's agents, newest first",
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('agt') }),
    },
    create_agent: {
      method: 'POST',
      path: '/v1/agents',
      auth: 'key_or_session',
      summary: 'Create an agent',
      body: members({ slug: SLUG, ...settingsOf(limits) }, ['slug']),
    },
    get_leaderboard: {
      method: 'GET',
      path: '/v1/agents/leaderboard',
      auth: 'open',
      cache: { maxAgeSeconds: 10 },
      summary: 'Agents ranked by their requests',
      query: members({
        days: {
          type: 'integer',
          minimum: 1,
          maximum: limits.leaderboardDaysMax,
          description: `over how many days up to today, an integer from 1 to ${limits.leaderboardDaysMax}`,
        },
        limit: pageLimit(limits.listPageMax),
      }),
    },
    get_agent: {
      method: 'GET',
      path: '/v1/agents/{slug}',
      auth: 'optional',
      summary: 'One agent; its owner and itself also see balance and policy',
    },
    update_agent: {
      method: 'PATCH',
      path: '/v1/agents/{slug}',
      auth: 'key_or_session',
      summary: "Change an agent's settings and policy",
      body: { ...members(settingsOf(limits)), minProperties: 1 },
    },
    fund_agent: {
      method: 'POST',
      path: '/v1/agents/{slug}/fund',
      auth: 'key_or_session',
      summary: "Move coin from the account to the agent's",
      body: members({ amount: coinAmount('the amount'), note: NOTE }, ['amount']),
    },
    issue_agent_key: {
      method: 'POST',
      path: '/v1/agents/{slug}/key',
      auth: 'key_or_session',
      summary: "Issue the agent's API key, which is shown only once; the one before ends",
      body: members({}),
    },
    pay_from_agent: {
      method: 'POST',
      path: '/v1/agents/{slug}/pay',
      auth: 'key_or_session',
      summary: "Pay coin to another agent, or back to the agent's owner",
      body: members(
        {
          to: text('the slug of another agent, or "owner" for the account that the agent belongs to', 40),
          amount: coinAmount('the amount'),
          note: NOTE,
        },
        ['to', 'amount'],
      ),
    },
    list_approvals: {
      method: 'GET',
      path: '/v1/agents/{slug}/approvals',
      auth: 'key_or_session',
      summary: 'Requests and payments that wait for the owner, newest first',
      query: members({
        limit: pageLimit(limits.listPageMax),
        after: pageAfter('apr'),
        status: {
          type: 'string',
          enum: ['pending', 'approved', 'denied', 'used', 'expired', 'all'],
          description: 'pending, approved, denied, used, expired, or all',
        },
      }),
    },
    approve: {
      method: 'POST',
      path: '/v1/agents/{slug}/approvals/{id}/approve',
      auth: 'key_or_session',
      summary: 'Approve a request or payment; it may run once',
      body: members({}),
    },
    deny: {
      method: 'POST',
      path: '/v1/agents/{slug}/approvals/{id}/deny',
      auth: 'key_or_session',
      summary: 'Deny a request or payment',
      body: members({}),
    },
  }) as const satisfies Record<string, ApiRoute>
