import { GatewayError } from '../../../contract/errors/errors.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { insertAccount, renameAccount } from '../../book/ledger/accountRow.ts'
import { openAccount } from '../../book/ledger/openAccount.ts'
import { createKey, type KeySettings, updateKey } from '../../identity/keys/keys.ts'
import { countOf } from '../../runtime/db/count.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'

/** Settings of agents in addition to those of their keys. Amounts are units; null clears a setting; absent fields stay unchanged. */
export interface AgentSettings {
  readonly name?: string
  readonly description?: string
  readonly requestCapUnits?: number | null
  readonly approvalThresholdUnits?: number | null
}

export interface Agent {
  /** Also the id of its account. */
  readonly id: string
  /** The account that it belongs to. */
  readonly ownerId: string
  readonly slug: string
  readonly name: string
  readonly description: string
  /** Its one key, whose settings are its policy. */
  readonly keyId: string
  /** When the key's secret was last shown; null when it was never shown. */
  readonly keyIssuedAtMs: number | null
  readonly requestCapUnits: number | null
  readonly approvalThresholdUnits: number | null
  readonly createdAtMs: number
}

interface AgentRow {
  readonly id: string
  readonly owner_id: string
  readonly slug: string
  readonly name: string
  readonly description: string
  readonly key_id: string
  readonly key_issued_at: Date | null
  readonly request_cap_units: number | null
  readonly approval_threshold_units: number | null
  readonly created_at: Date
}

const SELECT = `SELECT a.id, a.owner_id, a.slug, c.name, a.description, a.key_id, a.key_issued_at, a.request_cap_units,
  a.approval_threshold_units, a.created_at FROM agents a JOIN accounts c ON c.id = a.id`

const asAgent = (row: AgentRow): Agent => ({
  id: row.id,
  ownerId: row.owner_id,
  slug: row.slug,
  name: row.name,
  description: row.description,
  keyId: row.key_id,
  keyIssuedAtMs: row.key_issued_at?.getTime() ?? null,
  requestCapUnits: row.request_cap_units,
  approvalThresholdUnits: row.approval_threshold_units,
  createdAtMs: row.created_at.getTime(),
})

/**
 * Opens an agent with its own account and key, inside the caller's transaction. The key's secret is not kept:
 * issuing one makes it usable.
 * @throws GatewayError slug_taken
 */
export async function createAgent(
  client: Client,
  ownerId: string,
  slug: string,
  settings: AgentSettings,
  policy: KeySettings,
): Promise<Agent> {
  const id = newId('agt')
  await insertAccount(client, id, settings.name ?? slug)
  await openAccount(client, id)
  const { key } = await createKey(client, id, { ...policy, name: slug })
  const made = await client.query(
    `INSERT INTO agents (id, owner_id, slug, description, key_id, request_cap_units, approval_threshold_units)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (slug) DO NOTHING`,
    [
      id,
      ownerId,
      slug,
      settings.description ?? '',
      key.id,
      settings.requestCapUnits ?? null,
      settings.approvalThresholdUnits ?? null,
    ],
  )
  if (made.rowCount === 0) throw new GatewayError('slug_taken', { param: 'slug' })
  return existing(await agentBySlug(client, slug))
}

/** Changes an agent and its policy, inside the caller's transaction; absent fields stay unchanged. */
export async function updateAgent(
  client: Client,
  agent: Agent,
  settings: AgentSettings,
  policy: KeySettings,
): Promise<Agent> {
  const { name, description, requestCapUnits, approvalThresholdUnits } = settings
  if (name !== undefined) await renameAccount(client, agent.id, name)
  await updateKey(client, agent.keyId, policy)
  await client.query(
    `UPDATE agents SET description = $2, request_cap_units = $3, approval_threshold_units = $4 WHERE id = $1`,
    [
      agent.id,
      description ?? agent.description,
      requestCapUnits === undefined ? agent.requestCapUnits : requestCapUnits,
      approvalThresholdUnits === undefined ? agent.approvalThresholdUnits : approvalThresholdUnits,
    ],
  )
  return existing(await agentBySlug(client, agent.slug))
}

/** Records that the agent's key got a new secret. */
export async function noteIssued(client: Client, agent: Agent): Promise<Agent> {
  await client.query('UPDATE agents SET key_issued_at = now() WHERE id = $1', [agent.id])
  return existing(await agentBySlug(client, agent.slug))
}

function existing(agent: Agent | undefined): Agent {
  if (agent === undefined) throw new Error('an agent went away while it was changed')
  return agent
}

/** No slug has a zero character, which the database takes in no text. */
const isNoSlug = (text: string): boolean => text.includes('\0')

export async function agentBySlug(db: Queryable, slug: string): Promise<Agent | undefined> {
  if (isNoSlug(slug)) return undefined
  const found = await db.query<AgentRow>(`${SELECT} WHERE a.slug = $1`, [slug])
  return found.rows[0] && asAgent(found.rows[0])
}

/** The agent, with its row locked until the end of the transaction. */
export async function lockAgent(client: Client, slug: string): Promise<Agent | undefined> {
  if (isNoSlug(slug)) return undefined
  locking(client, 'agents', () => [slug])
  const found = await client.query<AgentRow>(`${SELECT} WHERE a.slug = $1 FOR NO KEY UPDATE OF a`, [slug])
  return found.rows[0] && asAgent(found.rows[0])
}

/** The agents of an account, newest first. @param after the id of the agent to continue after, or '' */
export async function pageOfAgents(db: Queryable, ownerId: string, limit: number, after: string): Promise<Agent[]> {
  const found = await db.query<AgentRow>(
    `${SELECT} WHERE a.owner_id = $1 AND ($2 = '' OR a.id < $2) ORDER BY a.id DESC LIMIT $3`,
    [ownerId, after, limit],
  )
  return found.rows.map(asAgent)
}

export async function countAgents(db: Queryable, ownerId: string): Promise<number> {
  return countOf(db, 'SELECT count(*) FROM agents WHERE owner_id = $1', [ownerId])
}
