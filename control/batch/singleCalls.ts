import { answerError } from '../../contract/api/answerError.ts'
import { isErrorAnswer } from '../../contract/api/completion.ts'
import { DIALECT } from '../../contract/catalog/dialects.ts'
import { withOwnQuery } from '../../contract/providers/ownParts.ts'
import { providerErrorOf, statusOfError } from '../../contract/providers/providerError.ts'
import { faultOf } from '../../contract/providers/providerFault.ts'
import { backoffMs } from '../runtime/backoff.ts'
import { beforeDeadline } from '../runtime/beforeDeadline.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { CallError, type HttpAnswer } from '../runtime/net/httpCall.ts'
import { ProviderRefusal, providerHeaders } from './batchApi.ts'
import { parseResult } from './boundedJson.ts'
import type { GroupWorkerOptions } from './groupWorker.ts'
import { JOB_COLUMNS, type JobRow, type JobWithBody, requestText } from './jobRow.ts'
import { decide, requeue } from './jobStore.ts'
import { EXCESS_REASONS } from './lines.ts'
import { type Decision, decideAnswer, decideFailure, decideNotHeld, errorText } from './outcome.ts'
import type { BatchProvider, Providers } from './providers.ts'

const UNREACHED = 'The provider could not be reached.'
const LOST_ANSWER = 'The answer of the provider was lost. The job was not sent a second time.'

export interface SingleCallsOptions extends GroupWorkerOptions {
  /** Called when a job is decided or may be sent again. */
  readonly onDone: () => void
}

/**
 * Runs jobs of providers that take no batches, each by its own call: a few concurrently, at a steady pace. A call that
 * may have been read is never made again; when its answer is lost, the job fails and costs nothing.
 */
export class SingleCalls {
  private readonly options: SingleCallsOptions
  private readonly open = new Map<string, Set<Promise<void>>>()
  private readonly nextStartMs = new Map<string, number>()
  /** The account whose job was taken last, by provider. */
  private readonly lastTaken = new Map<string, string>()

  constructor(options: SingleCallsOptions) {
    this.options = options
  }

  /** Starts the calls that may start now. */
  async start(providers: Providers): Promise<void> {
    for (const provider of providers.values()) if (!provider.batch) await this.startOne(provider)
  }

  /** Fails jobs whose process crashed during the call. */
  async failLost(): Promise<void> {
    const { pool, now } = this.options
    const found = await pool.query<JobRow>(
      `SELECT ${JOB_COLUMNS} FROM batch_jobs WHERE state = 'calling' AND call_by_ms <= $1 LIMIT $2`,
      [now(), this.options.limits.batchPassMax],
    )
    for (const job of found.rows)
      await decide(pool, job.id, decideFailure(job, 'failed', LOST_ANSWER, now()), ['calling'])
  }

  /** Resolves when no call is under way, or after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    const calls = Promise.all([...this.open.values()].flatMap((own) => [...own]))
    await beforeDeadline(calls, timeoutMs, () => undefined)
  }

  private async startOne(provider: BatchProvider): Promise<void> {
    const own = this.open.get(provider.id) ?? new Set()
    this.open.set(provider.id, own)
    const isEarly = performance.now() < (this.nextStartMs.get(provider.id) ?? 0)
    if (isEarly || own.size >= this.options.limits.batchCallsPerProviderMax) return
    const after = this.lastTaken.get(provider.id) ?? ''
    const job = (await this.take(provider.id, after)) ?? (after === '' ? undefined : await this.take(provider.id, ''))
    this.lastTaken.set(provider.id, job?.accountId ?? '')
    if (job === undefined) return
    this.nextStartMs.set(provider.id, performance.now() + this.options.limits.batchCallPaceMs)
    const calling = this.run(provider, job).finally(() => {
      own.delete(calling)
      this.options.onDone()
    })
    own.add(calling)
  }

  /**
   * Marks a job as called, so that it is called again only for a known reason, even after a crash.
   * @param after the accounts behind this one are looked at, so that those with many jobs keep no others waiting
   */
  private async take(providerId: string, after: string): Promise<JobWithBody | undefined> {
    const { pool, now } = this.options
    const nowMs = now()
    const taken = await pool.query<JobWithBody>(
      `UPDATE batch_jobs SET state = 'calling', attempts = attempts + 1, call_by_ms = $3
       WHERE id = (SELECT id FROM batch_jobs WHERE state = 'queued' AND provider = $1 AND account_id > $4
                     AND due_at_ms <= $2 AND deadline_ms > $2
                   ORDER BY account_id, due_at_ms, id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING ${JOB_COLUMNS}, body`,
      [
        providerId,
        nowMs,
        nowMs + this.options.limits.batchCallTimeoutMs + this.options.limits.batchCallMarginMs,
        after,
      ],
    )
    return taken.rows[0]
  }

  private async run(provider: BatchProvider, job: JobWithBody): Promise<void> {
    const { holds, now, log } = this.options
    try {
      const [isHeld] = await holds.held([job])
      if (isHeld !== true) await this.decide(job, decideNotHeld(job, now()))
      else await this.ask(provider, job)
    } catch (error) {
      // The job stays as it is: its answer may be lost, and then it fails in its time.
      logEvent(log, 'batch_job_unfinished', { job: job.id, provider: provider.id, err: error })
    }
  }

  private async ask(provider: BatchProvider, job: JobWithBody): Promise<void> {
    const { call, now, attemptIds } = this.options
    const attemptId = attemptIds.of(job.id, job.attempts)
    let answer: HttpAnswer
    try {
      answer = await call({
        method: 'POST',
        url: new URL(provider.baseUrl + withOwnQuery(DIALECT.openai.chatPath, provider.query)),
        headers: { ...providerHeaders(provider, 'application/json'), 'x-request-id': attemptId },
        body: requestText(job),
        timeoutMs: this.options.limits.batchCallTimeoutMs,
        answerBytesMax: this.options.limits.batchResultBytesMax,
        allowPrivate: true,
        reach: provider.reach,
      })
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      if (error.maybeSent) return this.decide(job, decideFailure(job, 'failed', LOST_ANSWER, now()))
      return this.again(job, UNREACHED, 0, true)
    }
    if (answer.status >= 200 && answer.status < 300) return this.answered(provider, job, answer)
    const refusal = new ProviderRefusal(answer)
    // Below 400 the provider may have taken it.
    if (refusal.isFinal || answer.status < 400)
      return this.decide(job, decideFailure(job, 'failed', refusal.message, now()))
    return this.again(job, refusal.message, refusal.retryAfterMs, !refusal.isForNow)
  }

  private async answered(provider: BatchProvider, job: JobWithBody, answer: HttpAnswer): Promise<void> {
    const { now, limits } = this.options
    const completion = await parseResult(answer.body, limits)
    const failed = (reason: string) => this.decide(job, decideFailure(job, 'failed', reason, now()))
    if (completion === null) return failed('The provider answered with what is no completion.')
    if (typeof completion === 'string') return failed(EXCESS_REASONS[completion])
    if (isErrorAnswer(completion)) {
      const error = answerError(completion)
      const stated = providerErrorOf(error)
      const { owner } = faultOf(statusOfError(error), stated)
      // As if the answer had the status of its error.
      if (owner === 'rate' || owner === 'account' || owner === 'route') {
        return this.again(job, errorText(error), stated.retryAfterMs ?? 0, owner !== 'rate')
      }
    }
    return this.decide(job, decideAnswer(job, completion, now(), provider.outputFromTotal))
  }

  private async decide(job: JobRow, decision: Decision): Promise<void> {
    if (decision.contradicts === true) this.options.contradictions.note(job.provider, 1, { job: job.id })
    await decide(this.options.pool, job.id, decision, ['calling'])
  }

  /** The provider has not run the job: retries it later, at the next provider that may serve it if there is one. */
  private async again(job: JobRow, reason: string, waitMs: number, nextRoute: boolean): Promise<void> {
    const { pool, now } = this.options
    if (job.attempts >= this.options.limits.batchAttemptsMax) {
      return this.decide(job, decideFailure(job, 'failed', reason, now()))
    }
    const turn = nextRoute ? (job.route + 1) % job.routes.length : job.route
    const route = job.routes[turn] ?? { provider: job.provider, model: job.upstreamModel }
    const pauseMs = Math.max(
      backoffMs(job.attempts, this.options.limits.batchRetryMs, this.options.limits.batchRetryMaxMs),
      waitMs,
    )
    const dueAtMs = now() + Math.min(pauseMs, this.options.limits.batchRetryMaxMs)
    await requeue(pool, job.id, 'calling', { route: turn, provider: route.provider, model: route.model, dueAtMs })
  }
}
