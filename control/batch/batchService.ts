import type { Logger } from 'pino'
import type { AttemptIds } from '../../contract/wire/attemptIds.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Redis } from '../../contract/wire/redis.ts'
import { apart } from '../runtime/apart.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { Loop } from '../runtime/loop.ts'
import { type CallHttp, callHttp } from '../runtime/net/httpCall.ts'
import { BatchHolds } from './batchHolds.ts'
import { endDecided } from './charger.ts'
import { Contradictions } from './contradictions.ts'
import { eraseOld, expireJobs } from './expiry.ts'
import { packGroups } from './groupStore.ts'
import { GroupWorker } from './groupWorker.ts'
import { type BatchWork, readWork } from './jobStore.ts'
import type { BatchLimits } from './limits.ts'
import { openJob, recoverOpening } from './openJob.ts'
import { type Providers, readProviders } from './providers.ts'
import { SingleCalls } from './singleCalls.ts'
import { endStrayHolds } from './strayHolds.ts'
import { chargeUnbooked } from './unbooked.ts'
import { sendWebhooks } from './webhookSender.ts'

const STOP_SHARE = 4

export interface BatchServiceOptions {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  /** Where the keys of the providers are. */
  readonly environment: NodeJS.ProcessEnv
  /** Webhooks may be sent to private addresses. */
  readonly allowPrivate: boolean
  /** Milliseconds since 1970; the system's clock when absent. */
  readonly now?: () => number
  readonly callProvider?: CallHttp
  /** By which providers know jobs. */
  readonly attemptIds: AttemptIds
  readonly limits: BatchLimits
}

/** Batch jobs from their submission to their end. Several controls may run it side by side. */
export class BatchService {
  readonly holds: BatchHolds
  readonly contradictions: Contradictions
  private readonly options: BatchServiceOptions
  private readonly limits: BatchLimits
  private readonly now: () => number
  private readonly groups: GroupWorker
  private readonly singles: SingleCalls
  private readonly loops: Loop[] = []
  private ends: Loop | undefined
  /** The work that there was at the last look; saves the other loops from asking. */
  private work: BatchWork = { hasOpen: true, hasDue: true }
  private known: Providers | undefined
  private providersAtMs = 0

  constructor(options: BatchServiceOptions) {
    const { pool, redis, log, limits } = options
    const now = options.now ?? Date.now
    const call = options.callProvider ?? callHttp
    this.options = options
    this.limits = limits
    this.now = now
    this.holds = new BatchHolds(redis, pool, limits)
    this.contradictions = new Contradictions(log)
    const { holds, contradictions } = this
    const parts = { pool, holds, log, contradictions, call, now, attemptIds: options.attemptIds, limits }
    this.groups = new GroupWorker(parts)
    this.singles = new SingleCalls({ ...parts, onDone: () => this.ends?.wake() })
  }

  /** Begins to work. */
  start(): void {
    const { log } = this.options
    const repeat = (name: string, ms: number, round: () => Promise<void>): Loop => {
      const loop = new Loop(name, ms, log, () => round())
      this.loops.push(loop)
      return loop
    }
    this.ends = repeat('ends of batch jobs', this.limits.batchTickMs, () => this.end())
    const jobs = repeat('batch jobs', this.limits.batchTickMs, () => this.run())
    // A provider that does not answer blocks only its lane.
    for (let lane = 0; lane < this.limits.batchLanes; lane++) {
      repeat('batches of providers', this.limits.batchTickMs, () => this.advanceBatches())
    }
    const webhooks = repeat('webhooks', this.limits.batchTickMs, () => this.sendDueWebhooks())
    repeat('work of batch jobs', this.limits.batchTickMs, () => this.look(jobs, webhooks))
    repeat('old batch results', this.limits.housekeepingMs, () => this.erase())
  }

  async stop(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()))
    await this.singles.stop(this.limits.shutdownTimeoutMs / STOP_SHARE)
  }

  /** Takes a job from a proxy; see `openJob`. */
  async open(request: sluice.SubmitBatchRequest): Promise<sluice.SubmitBatchReply.$Properties> {
    const { pool, allowPrivate } = this.options
    const parts = {
      pool,
      holds: this.holds,
      providers: () => this.providers(),
      now: this.now,
      allowPrivate,
      limits: this.limits,
    }
    return openJob(parts, request)
  }

  private async look(jobs: Loop, webhooks: Loop): Promise<void> {
    const before = this.work
    this.work = await readWork(this.options.pool, this.now())
    if (this.work.hasOpen && !before.hasOpen) jobs.wake()
    if (this.work.hasDue && !before.hasDue) webhooks.wake()
  }

  /** Packs due jobs into groups, starts single calls and expires jobs. */
  private async run(): Promise<void> {
    if (!this.work.hasOpen) return
    const { pool } = this.options
    const providers = await this.providers()
    const packing = [...providers.values()].filter((provider) => provider.batch).map((provider) => provider.id)
    const steps = [
      () => recoverOpening({ pool, holds: this.holds, now: this.now, limits: this.limits }),
      () => this.singles.failLost(),
      () => packGroups(pool, packing, this.now(), this.limits),
      () => this.singles.start(providers),
      () => expireJobs(pool, this.now(), this.limits),
    ]
    await apart(steps, (step) => step())
  }

  /** Carries groups that are due to their providers and back. */
  private async advanceBatches(): Promise<void> {
    if (!this.work.hasOpen) return
    const providers = await this.providers()
    for (let steps = 0; steps < this.limits.batchPassMax && (await this.groups.step(providers)); steps++)
      this.ends?.wake()
  }

  /** Ends the jobs that are decided. */
  private async end(): Promise<void> {
    if (!this.work.hasOpen) return
    const { pool, log } = this.options
    await endDecided({ pool, holds: this.holds, log, now: this.now, limits: this.limits })
  }

  /** Sends the webhooks that are due. */
  private async sendDueWebhooks(): Promise<void> {
    if (!this.work.hasDue) return
    const { pool, log, allowPrivate } = this.options
    const options = { pool, log, allowPrivate, now: this.now, limits: this.limits }
    for (let rounds = 0; rounds < this.limits.batchPassMax; rounds++) {
      if ((await sendWebhooks(options)) < this.limits.webhooksAtOnceMax) return
    }
  }

  /** Repeats endings that Redis has lost, voids holds without an open job, and erases expired results and webhooks. */
  private async erase(): Promise<void> {
    const { pool, redis, log } = this.options
    const parts = { pool, holds: this.holds, log, now: this.now, limits: this.limits }
    const steps = [
      () => endStrayHolds({ ...parts, redis }),
      () => chargeUnbooked(parts),
      async () => {
        for (let rounds = 0; rounds < this.limits.batchPassMax; rounds++) {
          if (!(await eraseOld(pool, this.now(), this.limits))) return
        }
      },
    ]
    await apart(steps, (step) => step())
  }

  private async providers(): Promise<Providers> {
    const { pool, environment } = this.options
    const isOld = performance.now() - this.providersAtMs >= this.limits.catalogCheckMs
    if (isOld || this.known === undefined) {
      this.known = await readProviders(pool, environment)
      this.providersAtMs = performance.now()
    }
    return this.known
  }
}
