import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { TagLimits } from '../../../contract/money/tags.ts'
import { parseUsd } from '../../../contract/money/units.ts'
import type { KeySettings } from '../../identity/keys/keys.ts'
import { readSettings } from '../../identity/keys/readSettings.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { AgentSettings } from './agents.ts'

/** Paths below /v1/agents, and words that a reader would take for something else. */
const RESERVED = new Set(['leaderboard', 'owner', 'agents', 'agent', 'new', 'me', 'approvals', 'admin', 'sluice'])

const unitsOf = (usd: unknown): number | null | undefined =>
  typeof usd === 'string' ? parseUsd(usd) : (usd as null | undefined)

/** @throws GatewayError for an invalid or reserved slug */
export function readSlug(body: Readonly<Record<string, unknown>>): string {
  const slug = String(body['slug'])
  if (RESERVED.has(slug))
    throw invalidRequest(`slug must not be ${slug}, which is reserved; choose another one.`, 'slug')
  return slug
}

/** The settings in a body, whose schema has checked the forms. @throws GatewayError for unknown models and refused tags */
export async function readAgentSettings(
  db: Queryable,
  body: Readonly<Record<string, unknown>>,
  limits: TagLimits,
): Promise<{ settings: AgentSettings; policy: KeySettings }> {
  const { slug: _, name, description, request_cap, approval_threshold, ...rest } = body
  const settings = {
    name,
    description,
    requestCapUnits: unitsOf(request_cap),
    approvalThresholdUnits: unitsOf(approval_threshold),
  }
  return {
    settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as AgentSettings,
    policy: await readSettings(db, rest, limits),
  }
}
