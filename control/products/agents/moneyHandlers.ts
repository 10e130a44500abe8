import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { coinDecimal } from '../../../contract/money/coin.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { hashSecret, newId } from '../../../contract/wire/ids.ts'
import type { Debits } from '../../admission/debits/debit.ts'
import type { ApiCall, WriteHandler } from '../../api/call.ts'
import type { Spender } from '../../book/ledger/spender.ts'
import { type CoinAmount, coinAmountJson, coinPrice, readCoin } from '../../catalog/pricing/coinAmounts.ts'
import { countKeyTransfer } from '../../identity/accounts/keyTransfers.ts'
import { GATEWAY, recordActivity } from '../../runtime/activity/activity.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { UndoableTransaction } from '../../runtime/db/undoable.ts'
import { isOfOwner, namedAgent, ownedAgent, requireOwnerCredential, requireTransferRight } from './agentCaller.ts'
import type { AgentParts } from './agentParts.ts'
import { type Agent, agentBySlug } from './agents.ts'
import { approvalAsked, askApproval, useApproval } from './approvals.ts'
import type { AgentsLimits } from './limits.ts'

/** Denotes the account of the agent's owner. */
const OWNER = 'owner'

/** Coin to and from agents. */
export function moneyHandlers({
  debits,
  applyToAdmission,
  limits,
}: AgentParts): Record<'fund_agent' | 'pay_from_agent', WriteHandler<unknown>> {
  return {
    fund_agent: {
      authorize: async (call, client) => void (await fundable(client, call)),
      write: async (call, client, _prepared, transaction) => {
        const agent = await fundable(client, call)
        const amount = readCoin(call.body['amount'], await coinPrice(client))
        const id = newId('pay')
        await debits.move(transaction, {
          id,
          accountId: call.accountId,
          ...amount,
          kind: 'agent_fund',
          to: { accountId: agent.id },
          ...spenderOf(call),
        })
        const details = { ...amountOf(amount), agent: agent.slug, ...noteOf(call) }
        const change = { accountId: call.accountId, type: 'agent.funded', target: id, details }
        await recordActivity(client, call.actor, [change])
        return {
          status: 201,
          json: paymentJson(call, id, OWNER, agent.slug, amount),
          afterCommit: () => applyToAdmission([call.accountId, agent.id]),
        }
      },
    },
    pay_from_agent: {
      authorize: async (call, client) => void (await payer(client, call)),
      write: async (call, client, _prepared, transaction) => {
        const agent = await payer(client, call)
        const amount = readCoin(call.body['amount'], await coinPrice(client))
        const to = await receiver(client, agent, String(call.body['to']))
        const id = newId('pay')
        if (call.accountId === agent.id) {
          const asked = await withinPolicy(client, call, { id, agent, to, amount, limits })
          if (asked !== undefined) return { status: 202, json: asked, isProvisional: true }
        }
        await pay(transaction, debits, call, { id, agent, to, amount, limits })
        return {
          status: 201,
          json: paymentJson(call, id, agent.slug, to.slug, amount),
          afterCommit: () => applyToAdmission([agent.id, to.accountId]),
        }
      },
    },
  }
}

/** An agent of the caller's account. A key with caps may fund it, too, within its caps; a sub-key may not. */
async function fundable(client: Client, call: ApiCall): Promise<Agent> {
  requireTransferRight(call)
  const agent = await namedAgent(client, call)
  if (call.caller.kind !== 'key') return ownedAgent(client, call)
  if (!isOfOwner(call, agent)) throw new GatewayError('permission_denied')
  return agent
}

/** The agent that pays: the caller itself, or an agent of the caller's account. */
async function payer(client: Client, call: ApiCall): Promise<Agent> {
  requireTransferRight(call)
  const agent = await namedAgent(client, call)
  if (call.accountId === agent.id) return agent
  requireOwnerCredential(call)
  if (agent.ownerId !== call.accountId) throw new GatewayError('permission_denied')
  return agent
}

interface Receiver {
  readonly accountId: string
  /** The account whose activity shows the payment. */
  readonly ownerId: string
  readonly slug: string
}

async function receiver(client: Client, agent: Agent, to: string): Promise<Receiver> {
  if (to === OWNER) return { accountId: agent.ownerId, ownerId: agent.ownerId, slug: OWNER }
  if (to === agent.slug) throw invalidRequest('to must be another agent; an agent cannot pay itself.', 'to')
  const found = await agentBySlug(client, to)
  if (found === undefined) throw new GatewayError('agent_not_found', { param: 'to' })
  return { accountId: found.id, ownerId: found.ownerId, slug: found.slug }
}

/** A payment of an agent. */
interface AgentPayment {
  readonly id: string
  readonly agent: Agent
  readonly to: Receiver
  readonly amount: CoinAmount
  readonly limits: AgentsLimits
}

/**
 * Checks a payment that an agent makes with its own key. @returns the approval to answer with when it has to wait
 * @throws GatewayError request_cap_exceeded, and those of approvals
 */
async function withinPolicy(
  client: Client,
  call: ApiCall,
  { id, agent, to, amount: { nanos, units }, limits }: AgentPayment,
) {
  const { requestCapUnits: cap, approvalThresholdUnits: threshold } = agent
  if (cap !== null && units > cap) {
    const message = `The agent may spend at most ${formatUsd(cap)} USD in one payment.`
    throw new GatewayError('request_cap_exceeded', { message, param: 'amount' })
  }
  if (threshold === null || units <= threshold) return undefined
  const bodyHash = hashSecret(JSON.stringify([to.accountId, nanos, call.body['note'] ?? '']))
  const wanted = { agentId: agent.id, subject: 'payment', endpoint: 'pay', model: to.slug, bodyHash } as const
  if (call.approvalId !== '') {
    await useApproval(client, call.approvalId, wanted, units, id)
    return undefined
  }
  return approvalAsked(
    client,
    await askApproval(client, { ...wanted, units, requestId: call.requestId }, limits),
    agent.slug,
  )
}

async function pay(
  transaction: UndoableTransaction,
  debits: Debits,
  call: ApiCall,
  payment: AgentPayment,
): Promise<void> {
  const { id, agent, to, amount } = payment
  const { client } = transaction
  const { caller } = call
  // Transfers between the owner and its agents can be reversed by a transfer back; transfers to others cannot.
  if (caller.kind === 'key' && to.ownerId !== agent.ownerId) {
    const transfer = { debitId: id, accountId: agent.ownerId, keyId: caller.keyId, units: amount.units }
    await countKeyTransfer(client, transfer, Date.now(), payment.limits)
  }
  const spender = call.accountId === agent.id ? spenderOf(call) : {}
  await debits.move(transaction, {
    id,
    accountId: agent.id,
    ...amount,
    kind: 'agent_pay',
    to: { accountId: to.accountId },
    ...spender,
  })
  const details = { ...amountOf(amount), from: agent.slug, to: to.slug, ...noteOf(call) }
  await recordActivity(client, call.actor, [{ accountId: agent.ownerId, type: 'agent.paid', target: id, details }])
  if (to.ownerId === agent.ownerId) return
  await recordActivity(client, GATEWAY, [{ accountId: to.ownerId, type: 'agent.was_paid', target: id, details }])
}

/** A key spends within its caps, a sub-key also within those of its platform key. */
function spenderOf({ caller }: ApiCall): { spender?: Spender } {
  return caller.kind === 'key' ? { spender: caller } : {}
}

/** As the activity of an account shows it. */
function amountOf({ nanos, units }: CoinAmount): { amount: string; coin: string } {
  return { amount: formatUsd(units), coin: coinDecimal(nanos) }
}

function noteOf({ body }: ApiCall): { note?: string } {
  return typeof body['note'] === 'string' ? { note: body['note'] } : {}
}

function paymentJson(call: ApiCall, id: string, from: string, to: string, amount: CoinAmount) {
  return {
    object: 'payment' as const,
    id,
    from,
    to,
    amount: coinAmountJson(amount),
    note: noteOf(call).note ?? '',
    created_at: new Date().toISOString(),
  }
}
