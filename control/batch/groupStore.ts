import { newId } from '../../contract/wire/ids.ts'
import { apart } from '../runtime/apart.ts'
import { textArray } from '../runtime/db/arrays.ts'
import { camelColumns } from '../runtime/db/columns.ts'
import { type Client, type Pool, type Queryable, withTransaction } from '../runtime/db/pool.ts'
import { JOB_COLUMNS, type JobRow, type JobWithBody } from './jobRow.ts'
import type { BatchLimits } from './limits.ts'

/** A group of jobs that travel in one batch of a provider. Times are milliseconds since 1970. */
export interface GroupRow {
  readonly id: string
  readonly provider: string
  readonly upstreamModel: string
  readonly state: 'sending' | 'sent' | 'ended'
  readonly deadlineMs: number
  readonly lease: string
  readonly attempts: number
  readonly inputFileId: string | null
  /** When it was last sent; from then on the provider may have it. */
  readonly postedAtMs: number | null
  readonly upstreamId: string | null
  readonly cancelled: boolean
}

const COLUMNS =
  camelColumns(`id, provider, upstream_model, state, deadline_ms, lease, attempts, input_file_id, posted_at_ms,
  upstream_id, cancelled`)

interface Waiting {
  readonly provider: string
  readonly upstreamModel: string
}

/**
 * Packs waiting jobs of providers that accept batches into new groups, one model per group, because a batch is of one model.
 * Jobs wait a moment so that groups become larger, and those of all accounts are packed in turn.
 * @param providers ids of the providers that accept batches
 */
export async function packGroups(
  pool: Pool,
  providers: readonly string[],
  nowMs: number,
  limits: BatchLimits,
): Promise<void> {
  if (providers.length === 0) return
  const waiting = await pool.query<Waiting>(
    `SELECT ${camelColumns('provider, upstream_model')} FROM batch_jobs
     WHERE state = 'queued' AND provider = ANY ($1::text[]) AND due_at_ms <= $2
     GROUP BY provider, upstream_model HAVING min(created_at_ms) <= $3 OR count(*) >= $4 LIMIT $5`,
    [textArray(providers), nowMs, nowMs - limits.batchGatherMs, limits.batchGroupJobsMax, limits.batchPassMax],
  )
  await apart(waiting.rows, (kind) => withTransaction(pool, (client) => packGroup(client, kind, nowMs, limits)))
}

async function packGroup(
  client: Client,
  { provider, upstreamModel }: Waiting,
  nowMs: number,
  limits: BatchLimits,
): Promise<void> {
  const found = await client.query<{ id: string; bodyBytes: number; deadlineMs: number }>(
    `SELECT ${camelColumns('j.id, j.body_bytes, j.deadline_ms')} FROM batch_jobs j JOIN (
       SELECT id, created_at_ms, row_number() OVER (PARTITION BY account_id ORDER BY created_at_ms, id) AS turn
       FROM (SELECT id, account_id, created_at_ms FROM batch_jobs
         WHERE state = 'queued' AND provider = $1 AND upstream_model = $2 AND due_at_ms <= $3 AND deadline_ms > $3
         ORDER BY due_at_ms LIMIT $5) due
       ORDER BY turn, created_at_ms, id LIMIT $4
     ) t USING (id) WHERE j.state = 'queued' ORDER BY t.turn, t.created_at_ms, t.id FOR UPDATE OF j SKIP LOCKED`,
    [provider, upstreamModel, nowMs, limits.batchGroupJobsMax, limits.batchJobsReadMax],
  )
  let bytes = 0
  const lastMs = (found.rows[0]?.deadlineMs ?? 0) + limits.batchCancelLeadMs
  const jobs = found.rows.filter(({ bodyBytes, deadlineMs }, i) => {
    // A group has the deadline of its earliest job, so a job with a much later deadline is put into another group.
    if (deadlineMs > lastMs) return false
    bytes += bodyBytes
    return i === 0 || bytes <= limits.batchGroupBytesMax
  })
  if (jobs.length === 0) return
  const id = newId('bgr')
  await client.query(
    `INSERT INTO batch_groups (id, provider, upstream_model, state, created_at_ms, deadline_ms, due_at_ms)
     VALUES ($1, $2, $3, 'sending', $4, $5, $4)`,
    [id, provider, upstreamModel, nowMs, Math.min(...jobs.map((job) => job.deadlineMs))],
  )
  await client.query(`UPDATE batch_jobs SET state = 'grouped', group_id = $1 WHERE id = ANY ($2::text[])`, [
    id,
    textArray(jobs.map((job) => job.id)),
  ])
}

/**
 * Leases a group that is due, for limits.batchLeaseMs; no other control works on it meanwhile.
 * @returns undefined when none is due
 */
export async function leaseGroup(db: Queryable, nowMs: number, limits: BatchLimits): Promise<GroupRow | undefined> {
  const leased = await db.query<GroupRow>(
    `UPDATE batch_groups SET leased_until_ms = $1::bigint + $2::bigint, lease = $3, attempts = attempts + 1
     WHERE id = (SELECT id FROM batch_groups WHERE state <> 'ended' AND due_at_ms <= $1 AND leased_until_ms <= $1
                 ORDER BY due_at_ms LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING ${COLUMNS}`,
    [nowMs, limits.batchLeaseMs, newId('bgr')],
  )
  return leased.rows[0]
}

/** Changes of a group that its lease holder makes. */
export interface GroupChange {
  readonly state?: GroupRow['state']
  readonly dueAtMs?: number
  readonly inputFileId?: string
  /** null: the provider certainly does not have it. */
  readonly postedAtMs?: number | null
  readonly upstreamId?: string
  readonly cancelled?: boolean
  /** Reset when a step succeeds after failures. */
  readonly attempts?: number
  /** Ends the lease. */
  readonly release?: boolean
}

const CHANGES: Readonly<Record<Exclude<keyof GroupChange, 'release'>, string>> = {
  state: 'state',
  dueAtMs: 'due_at_ms',
  inputFileId: 'input_file_id',
  postedAtMs: 'posted_at_ms',
  upstreamId: 'upstream_id',
  cancelled: 'cancelled',
  attempts: 'attempts',
}

/** Changes a leased group. @throws Error when the lease has expired and another control has taken it */
export async function changeGroup(db: Queryable, group: GroupRow, change: GroupChange): Promise<void> {
  const sets = [change.release === true ? 'leased_until_ms = 0' : 'lease = lease']
  const values: unknown[] = [group.id, group.lease]
  for (const [name, column] of Object.entries(CHANGES)) {
    const value = change[name as keyof typeof CHANGES]
    if (value === undefined) continue
    values.push(value)
    sets.push(`${column} = $${values.length}`)
  }
  const changed = await db.query(`UPDATE batch_groups SET ${sets.join(', ')} WHERE id = $1 AND lease = $2`, values)
  if (changed.rowCount !== 1) throw new Error(`group ${group.id} is another one's now`)
}

/** The jobs of a group that wait for the provider. */
export async function jobsOfGroup(db: Queryable, groupId: string): Promise<JobRow[]> {
  const found = await db.query<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM batch_jobs WHERE group_id = $1 AND state = 'grouped' ORDER BY id`,
    [groupId],
  )
  return found.rows
}

/** The same with their requests. */
export async function fullJobsOfGroup(db: Queryable, groupId: string): Promise<JobWithBody[]> {
  const found = await db.query<JobWithBody>(
    `SELECT ${JOB_COLUMNS}, body FROM batch_jobs WHERE group_id = $1 AND state = 'grouped' ORDER BY id`,
    [groupId],
  )
  return found.rows
}
