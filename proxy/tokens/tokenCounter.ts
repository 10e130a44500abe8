import { GatewayError } from '../../control/contract/errors.ts'
import type { Limits } from '../../control/contract/limits.ts'
import { PoolBusy, WorkerPool } from '../../workers/pool.ts'

const RETRY_SECONDS = 1

/** Counts tokens by a tokenizer, in worker threads: for questions, and where a provider has not counted. */
export class TokenCounter {
  private readonly pool: WorkerPool
  private readonly estimateTimeoutMs: number

  constructor(limits: Limits) {
    this.estimateTimeoutMs = limits.estimateTimeoutMs
    this.pool = new WorkerPool({
      threadsMax: limits.countThreadsMax,
      queueMax: limits.countQueueMax,
      taskTimeoutMs: limits.countTimeoutMs,
      idleTimeoutMs: limits.workerIdleMs,
    })
  }

  /**
   * The tokens of each text.
   * @throws GatewayError 503 when too many texts wait or these take too long
   */
  async count(texts: readonly string[]): Promise<number[]> {
    try {
      return await this.pool.run('countTokens', texts)
    } catch (error) {
      const message =
        error instanceof PoolBusy
          ? 'Too many texts wait for their tokens to be counted; try again after Retry-After seconds.'
          : 'The tokens could not be counted in time; send less text, or try again after Retry-After seconds.'
      throw new GatewayError('too_many_requests_open', { message, retryAfterSeconds: RETRY_SECONDS, cause: error })
    }
  }

  /** The tokens of each text, or null when they cannot be counted soon. Never rejects. */
  countSoon(texts: readonly string[]): Promise<number[] | null> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(null), this.estimateTimeoutMs)
      const done = (counts: number[] | null): void => {
        clearTimeout(timer)
        resolve(counts)
      }
      this.pool.run('countTokens', texts).then(done, () => done(null))
    })
  }

  close(): Promise<void> {
    return this.pool.close()
  }
}
