import type { Logger } from 'pino'
import { batchIdOf } from '../../contract/api/batch.ts'
import type { AttemptIds } from '../../contract/wire/attemptIds.ts'
import { backoffMs } from '../runtime/backoff.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { CallError, type CallHttp } from '../runtime/net/httpCall.ts'
import { BatchApi, LINE_PATH, ProviderRefusal, type UpstreamBatch } from './batchApi.ts'
import type { BatchHolds } from './batchHolds.ts'
import type { Contradictions } from './contradictions.ts'
import { changeGroup, fullJobsOfGroup, type GroupRow, jobsOfGroup, leaseGroup } from './groupStore.ts'
import { type JobRow, type JobWithBody, requestText } from './jobRow.ts'
import { decide } from './jobStore.ts'
import type { BatchLimits } from './limits.ts'
import { readLines } from './lines.ts'
import { decideAnswer, decideFailure, decideNotHeld } from './outcome.ts'
import type { Providers } from './providers.ts'

/** The states in which a provider does nothing more for a batch. */
const OVER: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled'])

export interface GroupWorkerOptions {
  readonly pool: Pool
  readonly holds: Pick<BatchHolds, 'held'>
  readonly log: Logger
  readonly contradictions: Contradictions
  readonly call: CallHttp
  /** By which providers know jobs. */
  readonly attemptIds: AttemptIds
  readonly now: () => number
  readonly limits: BatchLimits
}

/** Sends groups of jobs to their provider and fetches the results, one step of one group at a time. */
export class GroupWorker {
  private readonly options: GroupWorkerOptions

  constructor(options: GroupWorkerOptions) {
    this.options = options
  }

  /** Does the next step of a group that is due. @returns false when none is */
  async step(providers: Providers): Promise<boolean> {
    const { pool, now, log } = this.options
    const group = await leaseGroup(pool, now(), this.options.limits)
    if (group === undefined) return false
    const provider = providers.get(group.provider)
    const endMs = performance.now() + this.options.limits.batchLeaseMs - this.options.limits.batchLeaseMs / 4
    try {
      if (provider === undefined) throw new Error('the provider is not in the catalog, or its key is not set')
      const api = new BatchApi(provider, this.options.call, () => endMs - performance.now(), this.options.limits)
      if (group.state === 'sending') await this.send(group, api)
      else await this.poll(group, api)
    } catch (error) {
      logEvent(log, 'batch_group_attempt_failed', { group: group.id, provider: group.provider, err: error })
      await this.later(group, error)
    }
    return true
  }

  private async send(group: GroupRow, api: BatchApi): Promise<void> {
    const { pool, now, attemptIds } = this.options
    if (group.postedAtMs !== null) {
      const found = await api.find(group.id)
      if (found !== undefined) return this.sent(group, found)
      // A batch that was created a moment ago may not be listed yet.
      const listedByMs = group.postedAtMs + this.options.limits.batchFindGraceMs
      if (now() < listedByMs) return changeGroup(pool, group, { dueAtMs: listedByMs, release: true })
    }
    if (now() >= group.deadlineMs) return this.end(group, 'expired', '')
    const jobs = await this.runnable(group)
    if (jobs.length === 0) return changeGroup(pool, group, { state: 'ended', release: true })
    const fileId = group.inputFileId ?? (await api.upload(group.id, linesOf(jobs, attemptIds)))
    await changeGroup(pool, group, { inputFileId: fileId, postedAtMs: now() })
    try {
      await this.sent(group, await api.create(fileId, group.id))
    } catch (error) {
      if (error instanceof ProviderRefusal && error.isFinal) return this.end(group, 'failed', error.message)
      const surelyNot = error instanceof CallError ? !error.maybeSent : error instanceof ProviderRefusal && error.isBusy
      if (surelyNot) await changeGroup(pool, group, { postedAtMs: group.postedAtMs })
      throw error
    }
  }

  private async sent(group: GroupRow, { id }: UpstreamBatch): Promise<void> {
    const { pool, now } = this.options
    const dueAtMs = now() + this.options.limits.batchPollMs
    await changeGroup(pool, group, { state: 'sent', upstreamId: id, dueAtMs, attempts: 0, release: true })
  }

  /** The jobs whose holds exist; the others are not run. */
  private async runnable(group: GroupRow): Promise<JobWithBody[]> {
    const { pool, holds, now } = this.options
    const jobs = await fullJobsOfGroup(pool, group.id)
    // An uploaded file stays as it is.
    if (group.inputFileId !== null) return jobs
    const held = await holds.held(jobs)
    for (const [i, job] of jobs.entries()) {
      if (held[i] !== true) await decide(pool, job.id, decideNotHeld(job, now()), ['grouped'])
    }
    return jobs.filter((_, i) => held[i] === true)
  }

  private async poll(group: GroupRow, api: BatchApi): Promise<void> {
    const { pool, now } = this.options
    const batch = await api.retrieve(group.upstreamId ?? '')
    const nowMs = now()
    if (OVER.has(batch.status)) {
      if (batch.isBusy && nowMs < this.cancelAtMs(group)) return this.again(group)
      await this.collect(group, batch, api)
      await this.end(group, endOf(batch, group), batch.reason)
      return this.removeFiles(group, batch, api)
    }
    if (nowMs >= group.deadlineMs) return this.end(group, 'expired', '')
    const cancelAtMs = this.cancelAtMs(group)
    if (nowMs >= cancelAtMs && !group.cancelled) {
      // A cancelled batch still returns the jobs that it has finished by then.
      await api.cancel(batch.id)
      await changeGroup(pool, group, { cancelled: true })
    }
    const pauseMs = backoffMs(group.attempts, this.options.limits.batchPollMs, this.options.limits.batchPollMs * 4)
    const next = [nowMs + pauseMs, group.deadlineMs, ...(nowMs < cancelAtMs ? [cancelAtMs] : [])]
    await changeGroup(pool, group, { dueAtMs: Math.min(...next), release: true })
  }

  /** Sends a batch once more that the provider did not run: its limits, or those of our account there, are used up for now. */
  private again(group: GroupRow): Promise<void> {
    const { pool, now, limits } = this.options
    const dueAtMs = Math.min(now() + limits.batchRetryMaxMs, group.deadlineMs)
    return changeGroup(pool, group, { state: 'sending', postedAtMs: null, dueAtMs, release: true })
  }

  private cancelAtMs({ deadlineMs }: GroupRow): number {
    return deadlineMs - this.options.limits.batchCancelLeadMs
  }

  /** Reads the results of the jobs. An expired or cancelled batch may have finished some, too. */
  private async collect(group: GroupRow, batch: UpstreamBatch, api: BatchApi): Promise<void> {
    const { pool, now } = this.options
    const jobs = await this.jobsByCustomId(group)
    let contradicted = 0
    let answered = 0
    for (const fileId of [batch.outputFileId, batch.errorFileId]) {
      if (fileId === '') continue
      for await (const line of readLines(await api.file(fileId), this.options.limits)) {
        if (fileId === batch.outputFileId) answered++
        const job = jobs.get(line.customId)
        if (job === undefined) continue
        const decision =
          line.completion === null
            ? decideFailure(job, line.isExpired ? 'expired' : 'failed', line.reason, now())
            : decideAnswer(job, line.completion, now(), api.outputFromTotal)
        if (decision.contradicts === true) contradicted++
        await decide(pool, job.id, decision, ['grouped'], group.id)
        jobs.delete(line.customId)
      }
    }
    // The results may be there later, and the provider bills them.
    if (answered < batch.answered && batch.status !== 'failed' && now() < group.deadlineMs) {
      throw new Error(`the provider has answered ${batch.answered} requests, and its file has ${answered} lines`)
    }
    this.options.contradictions.note(group.provider, contradicted, { group: group.id })
  }

  /** The jobs of a group by all ids that their lines may have: the key may have been replaced since, or the gateway updated. */
  private async jobsByCustomId({ id }: GroupRow): Promise<Map<string, JobRow>> {
    const { pool, attemptIds } = this.options
    const jobs = new Map<string, JobRow>()
    for (const job of await jobsOfGroup(pool, id)) {
      for (const customId of [batchIdOf(job.id), ...attemptIds.all(job.id, job.attempts)]) jobs.set(customId, job)
    }
    return jobs
  }

  /** Removes requests and answers from the provider; a provider that refuses is ignored. */
  private async removeFiles(group: GroupRow, batch: UpstreamBatch, api: BatchApi): Promise<void> {
    const fileIds = [group.inputFileId ?? '', batch.outputFileId, batch.errorFileId].filter((id) => id !== '')
    const removed = await Promise.allSettled(fileIds.map((id) => api.remove(id)))
    const failed = removed.filter((one) => one.status === 'rejected').length
    if (failed > 0) logEvent(this.options.log, 'batch_files_left', { group: group.id, failed })
  }

  /** Ends the group and its jobs without a result: no further results can arrive. */
  private async end(group: GroupRow, outcome: 'failed' | 'expired', reason: string): Promise<void> {
    const { pool, now } = this.options
    for (const job of await jobsOfGroup(pool, group.id)) {
      await decide(pool, job.id, decideFailure(job, outcome, reason, now()), ['grouped'], group.id)
    }
    await changeGroup(pool, group, { state: 'ended', release: true })
  }

  private async later(group: GroupRow, error: unknown): Promise<void> {
    const { pool, now, log } = this.options
    const refusal = error instanceof ProviderRefusal ? error : undefined
    try {
      if (group.state === 'sending' && refusal?.isFinal === true && group.postedAtMs === null) {
        await this.end(group, 'failed', refusal.message)
        return
      }
      if (now() >= group.deadlineMs) {
        await this.end(group, 'expired', '')
        return
      }
      const pauseMs = backoffMs(group.attempts, this.options.limits.batchRetryMs, this.options.limits.batchRetryMaxMs)
      const dueAtMs =
        now() + Math.max(pauseMs, Math.min(refusal?.retryAfterMs ?? 0, this.options.limits.batchRetryMaxMs))
      await changeGroup(pool, group, { dueAtMs: Math.min(dueAtMs, group.deadlineMs), release: true })
    } catch (fault) {
      // The lease ends by itself.
      logEvent(log, 'batch_group_deferral_failed', { group: group.id, err: fault })
    }
  }
}

/** The outcome of jobs without a result line when their batch is over. */
function endOf({ status }: UpstreamBatch, { cancelled }: GroupRow): 'failed' | 'expired' {
  return status === 'expired' || (status === 'cancelled' && cancelled) ? 'expired' : 'failed'
}

function* linesOf(jobs: readonly JobWithBody[], attemptIds: AttemptIds): Generator<string> {
  for (const [i, job] of jobs.entries()) yield (i === 0 ? '' : '\n') + lineOf(job, attemptIds)
}

function lineOf(job: JobRow & { readonly body: string }, attemptIds: AttemptIds): string {
  return `{"custom_id":"${attemptIds.of(job.id, job.attempts)}","method":"POST","url":"${LINE_PATH}","body":${requestText(job)}}`
}
