import { type ErrorCode, GatewayError } from '../../../contract/errors/errors.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { amountJson, coinPrice } from '../../catalog/pricing/coinAmounts.ts'
import { type Actor, GATEWAY, recordActivity } from '../../runtime/activity/activity.ts'
import { camelColumns, msColumns } from '../../runtime/db/columns.ts'
import { countOf } from '../../runtime/db/count.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { Agent } from './agents.ts'
import type { AgentsLimits } from './limits.ts'

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'used' | 'expired'

/** A request or payment of an agent that is above its threshold. */
export interface Wanted {
  readonly agentId: string
  readonly subject: 'request' | 'payment'
  /** The endpoint and model of a request; 'pay' and the receiver of a payment. */
  readonly endpoint: string
  readonly model: string
  readonly bodyHash: string
}

export interface Approval extends Omit<Wanted, 'bodyHash'> {
  readonly id: string
  /** The most that it may hold or pay. */
  readonly units: number
  readonly status: ApprovalStatus
  readonly requestId: string
  readonly usedBy: string | null
  readonly createdAtMs: number
  readonly expiresAtMs: number
  readonly decidedAtMs: number | null
}

interface StoredApproval extends Approval {
  readonly bodyHash: string
}

// An approval past its expiry time counts as expired, even before it is marked.
const COLUMNS = `${camelColumns('id, agent_id, subject, endpoint, model, body_hash, units, request_id, used_by')},
  ${msColumns('created_at, expires_at, decided_at')},
  CASE WHEN status IN ('pending', 'approved') AND expires_at <= now() THEN 'expired' ELSE status END AS status`

/**
 * The open approval for a request or payment of an agent; creates one when there is none. Repeats share one open approval.
 * @throws GatewayError rate_limited when too many approvals of the agent are open already
 */
export async function askApproval(
  client: Client,
  wanted: Wanted & { units: number; requestId: string },
  limits: AgentsLimits,
): Promise<Approval> {
  const { agentId, subject, endpoint, model, bodyHash, units, requestId } = wanted
  locking(client, 'agents', () => [agentId])
  const owner = await client.query<{ owner_id: string }>(
    'SELECT owner_id FROM agents WHERE id = $1 FOR NO KEY UPDATE',
    [agentId],
  )
  await client.query(
    `UPDATE approvals SET status = 'expired'
     WHERE agent_id = $1 AND status IN ('pending', 'approved') AND expires_at <= now()`,
    [agentId],
  )
  const open = await client.query<StoredApproval>(
    `SELECT ${COLUMNS} FROM approvals WHERE agent_id = $1 AND subject = $2 AND endpoint = $3 AND model = $4
       AND body_hash = $5 AND status IN ('pending', 'approved')`,
    [agentId, subject, endpoint, model, bodyHash],
  )
  const [found] = open.rows
  // An approval for less than the present amount (prices have changed) would never be usable.
  if (found !== undefined && found.units >= units) return found
  if (found !== undefined) await client.query(`UPDATE approvals SET status = 'expired' WHERE id = $1`, [found.id])
  await refuseTooMany(client, agentId, limits)
  const made = await client.query<StoredApproval>(
    `INSERT INTO approvals (id, agent_id, subject, endpoint, model, body_hash, units, request_id, status, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', now() + make_interval(secs => $9)) RETURNING ${COLUMNS}`,
    [newId('apr'), agentId, subject, endpoint, model, bodyHash, units, requestId, limits.approvalLifetimeMs / 1_000],
  )
  const [row] = made.rows
  if (row === undefined) throw new Error('the database returned no row for a new approval')
  const details = { agent_id: agentId, subject, endpoint, model, amount: formatUsd(units) }
  const change = { accountId: owner.rows[0]?.owner_id ?? '', type: 'approval.asked', target: row.id, details }
  await recordActivity(client, { ...GATEWAY, requestId }, [change])
  return row
}

async function refuseTooMany(client: Client, agentId: string, limits: AgentsLimits): Promise<void> {
  const counted = await countOf(client, `SELECT count(*) FROM approvals WHERE agent_id = $1 AND status = 'pending'`, [
    agentId,
  ])
  if (counted < limits.approvalsPerAgentMax) return
  const message = `${limits.approvalsPerAgentMax} requests of the agent wait for approval already; wait for the owner.`
  throw new GatewayError('rate_limited', { message, retryAfterSeconds: 60 })
}

const UNUSABLE: Readonly<Record<Exclude<ApprovalStatus, 'approved'>, ErrorCode>> = {
  pending: 'approval_pending',
  denied: 'approval_denied',
  expired: 'approval_expired',
  used: 'approval_used',
}

/**
 * Uses an approval for a request or payment, once. If its request ended without a charge, it may be used again.
 * @param leastUnits the least that it will hold or pay
 * @param usedBy the id of the request or payment
 * @returns the most that it may hold or pay
 * @throws GatewayError approval_not_found, _pending, _denied, _expired, _used, _mismatch
 */
export async function useApproval(
  client: Client,
  approvalId: string,
  wanted: Wanted,
  leastUnits: number,
  usedBy: string,
): Promise<number> {
  locking(client, 'approvals', () => [approvalId])
  const found = await client.query<StoredApproval>(`SELECT ${COLUMNS} FROM approvals WHERE id = $1 FOR UPDATE`, [
    approvalId,
  ])
  const [row] = found.rows
  const param = 'x-approval-id'
  if (row === undefined || row.agentId !== wanted.agentId) throw new GatewayError('approval_not_found', { param })
  const fits = [
    row.subject === wanted.subject && row.endpoint === wanted.endpoint && row.model === wanted.model,
    row.bodyHash === wanted.bodyHash && leastUnits <= row.units,
  ]
  if (fits.includes(false)) throw new GatewayError('approval_mismatch', { param })
  const isFree = row.status === 'used' && (await wasVoided(client, row))
  if (row.status !== 'approved' && !isFree) throw new GatewayError(UNUSABLE[row.status], { param })
  await client.query(`UPDATE approvals SET status = 'used', used_by = $2, used_at = now() WHERE id = $1`, [
    approvalId,
    usedBy,
  ])
  return row.units
}

/** Whether the request that used an approval ended without a charge, and the approval is still in time. */
async function wasVoided(client: Client, { usedBy, expiresAtMs }: StoredApproval): Promise<boolean> {
  if (expiresAtMs <= Date.now()) return false
  const found = await client.query('SELECT 1 FROM receipts WHERE request_id = $1 AND voided', [usedBy])
  return found.rowCount === 1
}

/** Makes an approval usable again after its request has ended without having held anything. */
export async function releaseApproval(client: Queryable, approvalId: string, requestId: string): Promise<void> {
  await client.query(
    `UPDATE approvals SET status = 'approved', used_by = NULL, used_at = NULL
     WHERE id = $1 AND used_by = $2 AND status = 'used'`,
    [approvalId, requestId],
  )
}

/**
 * Decides over an approval that waits; deciding the same again changes nothing.
 * @throws GatewayError approval_not_found; _denied, _expired or _used, each with 409, when it is past deciding
 */
export async function decideApproval(
  client: Client,
  actor: Actor,
  { id: agentId, ownerId }: Pick<Agent, 'id' | 'ownerId'>,
  approvalId: string,
  decision: 'approved' | 'denied',
): Promise<Approval> {
  locking(client, 'approvals', () => [approvalId])
  const found = await client.query<StoredApproval>(`SELECT ${COLUMNS} FROM approvals WHERE id = $1 FOR UPDATE`, [
    approvalId,
  ])
  const [row] = found.rows
  if (row === undefined || row.agentId !== agentId) throw new GatewayError('approval_not_found')
  if (row.status === decision) return row
  // An approval that can still be used can be revoked.
  const isUsable = row.status === 'approved' || (row.status === 'used' && (await wasVoided(client, row)))
  const isOpen = row.status === 'pending' || (isUsable && decision === 'denied')
  if (!isOpen) {
    const message = `The approval is ${row.status}, and nothing more can be decided; the agent has to ask again.`
    throw new GatewayError(UNUSABLE[row.status as keyof typeof UNUSABLE], { status: 409, message })
  }
  const changed = await client.query<StoredApproval>(
    `UPDATE approvals SET status = $2, decided_at = now(), used_by = NULL, used_at = NULL
     WHERE id = $1 RETURNING ${COLUMNS}`,
    [approvalId, decision],
  )
  const details = { agent_id: agentId, subject: row.subject, model: row.model, amount: formatUsd(row.units) }
  await recordActivity(client, actor, [
    { accountId: ownerId, type: `approval.${decision}`, target: approvalId, details },
  ])
  return changed.rows[0] ?? row
}

/** The approvals of an agent, newest first. @param after the id of the approval to continue after, or '' */
export async function pageOfApprovals(
  db: Queryable,
  agentId: string,
  status: ApprovalStatus | 'all',
  limit: number,
  after: string,
): Promise<Approval[]> {
  const found = await db.query<StoredApproval>(
    `SELECT * FROM (SELECT ${COLUMNS} FROM approvals WHERE agent_id = $1 AND ($2 = '' OR id < $2)) AS a
     WHERE ($3 = 'all' OR a.status = $3) ORDER BY id DESC LIMIT $4`,
    [agentId, after, status, limit],
  )
  return found.rows
}

/** An approval as the agent and its owner see it. */
export function approvalJson(approval: Approval, agentSlug: string, coinUsdUnits: number) {
  const { decidedAtMs, subject } = approval
  return {
    object: 'approval' as const,
    id: approval.id,
    status: approval.status,
    subject,
    agent: agentSlug,
    ...(subject === 'request' ? { endpoint: approval.endpoint, model: approval.model } : { to: approval.model }),
    hold: amountJson(approval.units, coinUsdUnits),
    request_id: approval.requestId,
    used_by: approval.usedBy,
    expires_at: new Date(approval.expiresAtMs).toISOString(),
    created_at: new Date(approval.createdAtMs).toISOString(),
    decided_at: decidedAtMs === null ? null : new Date(decidedAtMs).toISOString(),
  }
}

/** The answer to a request that has to wait for approval. */
export async function approvalAsked(db: Queryable, approval: Approval, agentSlug: string) {
  const next = approval.status === 'approved' ? 'This is approved' : "This waits for the owner's approval"
  return {
    type: 'approval_required' as const,
    message: `${next}; send it again, unchanged, with x-approval-id: ${approval.id}.`,
    ...approvalJson(approval, agentSlug, await coinPrice(db)),
  }
}
