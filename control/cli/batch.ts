import { BATCH_STATUSES, batchIdOf, requestIdOfBatch } from '../../contract/api/batch.ts'
import { formatUsd } from '../../contract/money/units.ts'
import { isId } from '../../contract/wire/ids.ts'
import { type JobRow, statusOf } from '../batch/jobRow.ts'
import { jobOf } from '../batch/jobStore.ts'
import { attemptsOf, listJobs, listWebhooks, resendWebhook, type WebhookRow } from '../batch/operatorReads.ts'
import { failureOf } from '../batch/shownJob.ts'
import { type Arguments, argument, type CommandGroup, flag, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { table } from './table.ts'
import { formatTime } from './values.ts'

const LIMIT = { value: 'N', help: 'at most this many, newest first (50)' }

function limitOf(args: Arguments): number {
  const text = flag(args, 'limit') ?? '50'
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text)
  throw new UsageError(`--limit must be a number from 1 to 99999, not "${text}"`)
}

function jobJson(job: JobRow) {
  return {
    id: batchIdOf(job.id),
    request_id: job.id,
    account_id: job.accountId,
    key_id: job.keyId,
    status: statusOf(job.state),
    state: job.state,
    model: job.model,
    provider: job.provider,
    group: job.groupId,
    attempts: job.attempts,
    hold: formatUsd(job.holdUnits),
    cost: job.endedAtMs === null ? null : formatUsd(job.chargeUnits ?? 0),
    created_at: formatTime(job.createdAtMs),
    expires_at: formatTime(job.deadlineMs),
    ended_at: formatTime(job.endedAtMs),
    error: failureOf(job)?.message ?? null,
  }
}

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const status = flag(args, 'status')
  if (status !== undefined && !BATCH_STATUSES.some((known) => known === status)) {
    throw new UsageError(`--status must be one of ${BATCH_STATUSES.join(', ')}, not "${status}"`)
  }
  const account = args.named.get('ACCOUNT') ?? ''
  const jobs = await listJobs(await context.pool(), { account, status: status ?? '', limit: limitOf(args) })
  const data = jobs.map(jobJson)
  const rows = data.map((job) => [
    job.id,
    job.account_id,
    job.model,
    job.state,
    job.provider,
    job.cost ?? '',
    job.created_at,
  ])
  const headings = ['JOB', 'ACCOUNT', 'MODEL', 'STATE', 'PROVIDER', 'USD', 'SINCE']
  context.print({ data }, rows.length === 0 ? 'there are no such jobs' : table(headings, rows))
}

async function show(args: Arguments, context: CliContext): Promise<undefined> {
  const id = argument(args, 'ID')
  const pool = await context.pool()
  const job = await jobOf(pool, isId('batch', id) ? requestIdOfBatch(id) : id)
  if (job === undefined) throw new CommandError(`there is no batch job ${id}`)
  const shown = jobJson(job)
  const lines = Object.entries(shown).map(([name, value]) => `${`${name}:`.padEnd(12)}${value ?? 'none'}`)
  context.print(shown, lines.join('\n'))
}

function webhookJson(hook: WebhookRow) {
  return {
    id: hook.id,
    batch_id: batchIdOf(hook.jobId),
    url: hook.url,
    state: hook.state,
    attempts: hook.attempts,
    created_at: formatTime(hook.createdAtMs),
    next_at: hook.state === 'waiting' ? formatTime(hook.dueAtMs) : null,
    ended_at: formatTime(hook.endedAtMs),
    last: hook.fault === null ? null : hook.fault === '' ? `answered ${hook.status}` : hook.fault,
  }
}

async function webhooks(args: Arguments, context: CliContext): Promise<undefined> {
  const hooks = await listWebhooks(await context.pool(), { state: flag(args, 'state') ?? '', limit: limitOf(args) })
  const data = hooks.map(webhookJson)
  const rows = data.map((hook) => [
    hook.id,
    hook.batch_id,
    hook.state,
    String(hook.attempts),
    hook.last ?? '',
    hook.url,
  ])
  const headings = ['WEBHOOK', 'JOB', 'STATE', 'ATTEMPTS', 'LAST', 'URL']
  context.print({ data }, rows.length === 0 ? 'there are no such webhooks' : table(headings, rows))
}

async function deliveries(args: Arguments, context: CliContext): Promise<undefined> {
  const attempts = await attemptsOf(await context.pool(), argument(args, 'WEBHOOK'))
  const data = attempts.map((one) => ({
    attempt: one.attempt,
    at: formatTime(one.atMs),
    took_ms: one.tookMs,
    status: one.status,
    fault: one.fault,
  }))
  const rows = data.map((one) => [
    String(one.attempt),
    one.at,
    `${one.took_ms} ms`,
    String(one.status ?? ''),
    one.fault,
  ])
  context.print(
    { data },
    rows.length === 0 ? 'nothing was sent yet' : table(['#', 'AT', 'TOOK', 'STATUS', 'FAULT'], rows),
  )
}

async function resend(args: Arguments, context: CliContext): Promise<undefined> {
  const id = argument(args, 'WEBHOOK')
  if (!(await resendWebhook(await context.pool(), id, Date.now()))) throw new CommandError(`there is no webhook ${id}`)
  context.print({ id, resent: true }, `webhook ${id} is sent again`)
}

export const BATCH: CommandGroup = {
  name: 'batch',
  summary: 'show batch jobs and the deliveries of their webhooks',
  commands: [
    {
      synopsis: 'list [ACCOUNT]',
      summary: 'Lists batch jobs.',
      flags: { status: { value: 'STATUS', help: BATCH_STATUSES.join(', ') }, limit: LIMIT },
      run: list,
    },
    { synopsis: 'show <ID>', summary: 'Shows one batch job.', run: show },
    {
      synopsis: 'webhooks',
      summary: 'Lists webhooks.',
      flags: { state: { value: 'STATE', help: 'waiting, delivered or given_up' }, limit: LIMIT },
      run: webhooks,
    },
    { synopsis: 'deliveries <WEBHOOK>', summary: 'Shows every attempt to deliver a webhook.', run: deliveries },
    { synopsis: 'resend <WEBHOOK>', summary: 'Sends a webhook again, under the same id.', run: resend },
  ],
}
