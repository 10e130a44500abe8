import { GatewayError } from '../../contract/errors/errors.ts'
import type { coinAmountJson } from '../catalog/pricing/coinAmounts.ts'
import { settingsJson } from '../identity/keys/settingsJson.ts'
import type { ownAgentJson } from '../products/agents/agentJson.ts'
import { type Agent, agentBySlug } from '../products/agents/agents.ts'
import { type Arguments, argument, type CommandGroup, flag, isSet, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { SETTING_FLAGS, settingsOf } from './keySettings.ts'
import { knownAccount } from './knownAccount.ts'
import { LIST_FLAGS, type ListJson, operate, pageOf, printList } from './operate.ts'
import { facts } from './table.ts'
import { amountOf } from './values.ts'

type AgentJson = Awaited<ReturnType<typeof ownAgentJson>> & {
  readonly caps?: Readonly<Record<string, string | null>>
  readonly budget?: string | null
  readonly models?: readonly string[]
  readonly tools?: readonly string[]
  readonly paused?: boolean
}
interface PaymentJson {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly amount: ReturnType<typeof coinAmountJson>
}
interface RankJson {
  readonly rank: number
  readonly slug: string
  readonly name: string
  readonly requests: number
  readonly tokens: number
}

const { expires: _, platform: __, 'no-platform': ___, ...KEY_FLAGS } = SETTING_FLAGS

const POLICY_FLAGS = {
  ...KEY_FLAGS,
  name: { value: 'TEXT', help: 'a name for people' },
  description: { value: 'TEXT', help: 'its description; public' },
  'request-cap': { value: 'USD', help: 'most that one request or payment may cost at worst; "none" removes it' },
  'approval-above': {
    value: 'USD',
    help: 'requests that may cost more wait for the owner\'s approval; "none" removes it',
  },
  paused: { help: 'refuse its requests' },
  active: { help: 'accept them again' },
}

const COIN_FLAGS = {
  coin: { value: 'AMOUNT', help: 'amount, such as 2.5' },
  note: { value: 'TEXT', help: 'a note in the activity of both sides' },
}

/** The agent that SLUG names, with its owner, on whose behalf the operator acts. @throws GatewayError agent_not_found */
export async function ownedAgent(args: Arguments, context: CliContext): Promise<Agent> {
  const agent = await agentBySlug(await context.pool(), argument(args, 'SLUG'))
  if (agent === undefined) throw new GatewayError('agent_not_found')
  return agent
}

function usdOf(args: Arguments, name: string): string | null | undefined {
  const text = flag(args, name)
  if (text === undefined || text === 'none') return text === 'none' ? null : undefined
  amountOf(name, text)
  return text
}

/** The settings that are given, as the API names them. */
async function policyOf(args: Arguments, context: CliContext): Promise<Record<string, unknown>> {
  if (isSet(args, 'paused') && isSet(args, 'active'))
    throw new UsageError('--paused and --active contradict each other')
  const given = {
    ...settingsJson(await settingsOf(args, await context.pool())),
    description: flag(args, 'description'),
    request_cap: usdOf(args, 'request-cap'),
    approval_threshold: usdOf(args, 'approval-above'),
    paused: isSet(args, 'paused') ? true : isSet(args, 'active') ? false : undefined,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function text(agent: AgentJson): string {
  const caps = Object.entries(agent.caps ?? {}).map(([name, cap]) => `${name} ${cap ?? 'none'}`)
  return facts([
    ['agent', agent.slug],
    ['id', agent.id],
    ['name', agent.name],
    ['coin', agent.balance.coin],
    ['available', agent.available?.coin ?? 'not known now'],
    ['caps (USD)', caps.join(', ')],
    ['budget', agent.budget ?? 'none'],
    ['request cap', agent.request_cap ?? 'none'],
    ['approval above', agent.approval_threshold ?? 'none'],
    ['models', agent.models?.join(', ') || 'any'],
    ['tools', agent.tools?.join(', ') || 'any'],
    ['state', agent.paused === true ? 'paused' : 'active'],
    ['key', agent.key === null ? 'not issued' : `sk_...${agent.key.last4}`],
  ])
}

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const accountId = await knownAccount(args, context)
  const agents = await operate<ListJson<AgentJson>>(context, 'list_agents', { accountId, query: pageOf(args) })
  return printList(context, agents, ['SLUG', 'AGENT', 'COIN', 'STATE', 'CREATED'], (agent) => {
    return [agent.slug, agent.id, agent.balance.coin, agent.paused === true ? 'paused' : 'active', agent.created_at]
  })
}

async function show(args: Arguments, context: CliContext): Promise<undefined> {
  const { slug, ownerId } = await ownedAgent(args, context)
  const agent = await operate<AgentJson>(context, 'get_agent', { accountId: ownerId, params: { slug } })
  context.print(agent, text(agent))
}

async function create(args: Arguments, context: CliContext): Promise<undefined> {
  const accountId = await knownAccount(args, context)
  const body = { slug: argument(args, 'SLUG'), ...(await policyOf(args, context)) }
  const agent = await operate<AgentJson>(context, 'create_agent', { accountId, body })
  context.print(agent, text(agent))
}

async function update(args: Arguments, context: CliContext): Promise<undefined> {
  const body = await policyOf(args, context)
  if (Object.keys(body).length === 0) {
    const names = Object.keys(POLICY_FLAGS).map((name) => `--${name}`)
    throw new UsageError(`say what to change: ${names.join(', ')}`)
  }
  const { slug, ownerId } = await ownedAgent(args, context)
  const agent = await operate<AgentJson>(context, 'update_agent', { accountId: ownerId, params: { slug }, body })
  context.print(agent, text(agent))
}

async function issueKey(args: Arguments, context: CliContext): Promise<undefined> {
  const { slug, ownerId } = await ownedAgent(args, context)
  const key = await operate<{ api_key: string }>(context, 'issue_agent_key', { accountId: ownerId, params: { slug } })
  const shown = facts([
    ['agent', slug],
    ['API key', key.api_key],
  ])
  context.print(key, `${shown}\nIt is shown only once; the key before it, if there was one, has ended.`)
}

/** The amount of coin and the note in the flags. */
function paymentOf(args: Arguments): { amount: string; note?: string } {
  const [amount, note] = [flag(args, 'coin'), flag(args, 'note')]
  if (amount === undefined) throw new UsageError('say how much: --coin 2.5')
  amountOf('coin', amount)
  return { amount, ...(note !== undefined && { note }) }
}

function printPayment(context: CliContext, payment: PaymentJson): undefined {
  const { id, from, to, amount } = payment
  context.print(payment, `${id}: ${amount.coin} coin (${amount.usd} USD) from ${from} to ${to}`)
}

async function fund(args: Arguments, context: CliContext): Promise<undefined> {
  const body = paymentOf(args)
  const { slug, ownerId } = await ownedAgent(args, context)
  const request = { accountId: ownerId, params: { slug }, body }
  return printPayment(context, await operate<PaymentJson>(context, 'fund_agent', request))
}

async function pay(args: Arguments, context: CliContext): Promise<undefined> {
  const body = { ...paymentOf(args), to: argument(args, 'TO') }
  const { slug, ownerId } = await ownedAgent(args, context)
  const request = { accountId: ownerId, params: { slug }, body }
  return printPayment(context, await operate<PaymentJson>(context, 'pay_from_agent', request))
}

async function leaderboard(args: Arguments, context: CliContext): Promise<undefined> {
  const [days, limit] = [flag(args, 'days'), flag(args, 'limit')]
  const query = { ...(days !== undefined && { days }), ...(limit !== undefined && { limit }) }
  const ranks = await operate<ListJson<RankJson & { id?: string }>>(context, 'get_leaderboard', {
    accountId: '',
    query,
  })
  return printList(context, ranks, ['RANK', 'SLUG', 'REQUESTS', 'TOKENS', 'NAME'], (rank) => {
    return [String(rank.rank), rank.slug, String(rank.requests), String(rank.tokens), rank.name]
  })
}

export const AGENT: CommandGroup = {
  name: 'agent',
  summary: 'agents with their own coin, key and policy',
  commands: [
    { synopsis: 'list <ACCOUNT>', summary: 'Lists the agents of an account.', flags: LIST_FLAGS, run: list },
    { synopsis: 'show <SLUG>', summary: 'Shows the coin and the policy of an agent.', run: show },
    { synopsis: 'create <ACCOUNT> <SLUG>', summary: 'Creates an agent.', flags: POLICY_FLAGS, run: create },
    {
      synopsis: 'update <SLUG>',
      summary: 'Changes the given settings; everything else stays as it is.',
      flags: POLICY_FLAGS,
      run: update,
    },
    {
      synopsis: 'key <SLUG>',
      summary: 'Issues its API key, which is shown only once; the one before ends.',
      run: issueKey,
    },
    {
      synopsis: 'fund <SLUG>',
      summary: "Moves coin from its owner's account to the agent.",
      flags: COIN_FLAGS,
      run: fund,
    },
    {
      synopsis: 'pay <SLUG> <TO>',
      summary: 'Pays coin of an agent to another agent, or back to "owner".',
      flags: COIN_FLAGS,
      run: pay,
    },
    {
      synopsis: 'leaderboard',
      summary: 'Ranks agents by their requests.',
      flags: {
        days: { value: 'N', help: 'over how many days (30)' },
        limit: { value: 'N', help: 'at most this many agents (20)' },
      },
      run: leaderboard,
    },
  ],
}
