import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { Loop } from '../admission/loop.ts'
import { sluice } from '../contract/generated/messages.js'
import { limits } from '../contract/limits.ts'
import type { Pool } from '../db/pool.ts'
import { type CallHttp, callHttp } from '../net/providerCall.ts'
import { type CallPublic, publicCaller } from '../net/publicCall.ts'
import { BatchHolds } from './batchHolds.ts'
import { endDecided } from './charger.ts'
import { eraseOld, expireJobs } from './expiry.ts'
import { packGroups } from './groupStore.ts'
import { GroupWorker } from './groupWorker.ts'
import { openJob, recoverOpening } from './openJob.ts'
import { type Providers, readProviders } from './providers.ts'
import { SingleCalls } from './singleCalls.ts'
import { voidStrayHolds } from './strayHolds.ts'
import { sendWebhooks } from './webhookSender.ts'

const STOP_SHARE = 4

export interface BatchServiceOptions {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  /** Where the keys of the providers are. */
  readonly environment: NodeJS.ProcessEnv
  /** Webhooks may go to private addresses. */
  readonly allowPrivate: boolean
  /** Milliseconds since 1970; the system's clock when absent. */
  readonly now?: () => number
  readonly callProvider?: CallHttp
  readonly callWebhook?: CallPublic
}

/** Batch jobs from their submission to their end. Several controls may run it side by side. */
export class BatchService {
  readonly holds: BatchHolds
  readonly #options: BatchServiceOptions
  readonly #now: () => number
  readonly #groups: GroupWorker
  readonly #singles: SingleCalls
  readonly #callWebhook: CallPublic
  readonly #loops: Loop[] = []

  constructor(options: BatchServiceOptions) {
    const { pool, redis, log } = options
    const now = options.now ?? Date.now
    const call = options.callProvider ?? callHttp
    this.#options = options
    this.#now = now
    this.holds = new BatchHolds(redis, pool)
    const parts = { pool, holds: this.holds, log, call, now }
    this.#groups = new GroupWorker(parts)
    this.#singles = new SingleCalls({ ...parts, onDone: () => this.#wake() })
    this.#callWebhook = options.callWebhook ?? publicCaller(options.allowPrivate)
  }

  /** Begins to work; without it, `pass` and the like do single rounds. */
  start(): void {
    const { log } = this.#options
    const rounds: Record<string, () => Promise<void>> = {
      'batch jobs': () => this.pass(),
      'ends of batch jobs': () => this.passEnds(),
      webhooks: () => this.passWebhooks(),
    }
    for (const [name, round] of Object.entries(rounds)) {
      this.#loops.push(new Loop(name, limits.batchTickMs, log, () => round()))
    }
    this.#loops.push(new Loop('old batch results', limits.housekeepingMs, log, () => this.passOld()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
    await this.#singles.stop(limits.shutdownTimeoutMs / STOP_SHARE)
  }

  /** Takes a job from a proxy; see `openJob`. */
  async open(request: sluice.SubmitBatchRequest): Promise<Uint8Array> {
    const { pool, allowPrivate } = this.#options
    const parts = { pool, holds: this.holds, providers: () => this.#providers(), now: this.#now, allowPrivate }
    return sluice.SubmitBatchReply.encode(await openJob(parts, request)).finish()
  }

  /** One round of everything up to the decision of what becomes of the jobs. */
  async pass(): Promise<void> {
    const { pool } = this.#options
    const providers = await this.#providers()
    const packing = [...providers.values()].filter((provider) => provider.batch).map((provider) => provider.id)
    await recoverOpening({ pool, holds: this.holds, now: this.#now })
    await this.#singles.failLost()
    await packGroups(pool, packing, this.#now())
    for (let steps = 0; steps < limits.batchPassMax && (await this.#groups.step(providers)); steps++);
    await this.#singles.start(providers)
    await expireJobs(pool, this.#now())
    this.#wake()
  }

  /** Ends the jobs that are decided. */
  async passEnds(): Promise<void> {
    const { pool, log } = this.#options
    await endDecided({ pool, holds: this.holds, log, now: this.#now })
  }

  /** Sends the webhooks that are due. */
  async passWebhooks(): Promise<void> {
    const { pool, log } = this.#options
    const options = { pool, log, call: this.#callWebhook, now: this.#now }
    for (let rounds = 0; rounds < limits.batchPassMax; rounds++) {
      if ((await sendWebhooks(options)) < limits.webhooksAtOnceMax) return
    }
  }

  /** Erases what is kept no longer, and gives up holds that no job stands for. */
  async passOld(): Promise<void> {
    const { pool, redis, log } = this.#options
    await voidStrayHolds({ pool, redis, holds: this.holds, log })
    for (let rounds = 0; rounds < limits.batchPassMax; rounds++) {
      if (!(await eraseOld(pool, this.#now()))) return
    }
  }

  /** Every job that a call was made for has been seen to its end. */
  async idle(timeoutMs: number): Promise<void> {
    await this.#singles.stop(timeoutMs)
  }

  #providers(): Promise<Providers> {
    return readProviders(this.#options.pool, this.#options.environment)
  }

  #wake(): void {
    for (const loop of this.#loops.slice(1, 2)) loop.wake()
  }
}
