import { GatewayError } from '../../../contract/errors/errors.ts'
import type { CountInput } from '../../../workers/countTokens.ts'
import { PoolBusy, WorkerPool } from '../../../workers/pool.ts'
import { sampleText, type TextSample } from '../../../workers/textSample.ts'
import type { TokenLimits } from './limits.ts'

const RETRY_SECONDS = 1
/** The share of the timeout that is reserved for returning the answer. */
const WAY_SHARE = 0.2

/**
 * Counts tokens by a tokenizer, in worker threads: for count requests, and when a provider has reported no usage. Long texts
 * are sampled, and a count that takes long ends early; the rest is extrapolated.
 */
export class TokenCounter {
  private readonly pool: WorkerPool
  private readonly limits: TokenLimits

  /** @param onFault called for threads that fail while they are idle */
  constructor(limits: TokenLimits, onFault: (error: unknown) => void) {
    this.limits = limits
    this.pool = new WorkerPool({
      threadsMax: limits.countThreadsMax,
      queueMax: limits.countQueueMax,
      // A count ends earlier by itself, so that this timeout only ends a thread that hangs.
      taskTimeoutMs: limits.countTimeoutMs + 2 * limits.countWorkMs,
      idleTimeoutMs: limits.workerIdleMs,
      onFault,
    })
  }

  /**
   * The tokens of each text.
   * @param accountId whose turn the count takes
   * @throws GatewayError 503 when too many texts wait or these would wait too long
   */
  async count(texts: readonly (string | TextSample)[], accountId: string): Promise<number[]> {
    const { countTimeoutMs } = this.limits
    try {
      const counts = await this.pool.run('countTokens', this.input(texts, countTimeoutMs), accountId)
      if (counts === null) throw new Error(`no thread was free within ${countTimeoutMs} ms`)
      return counts
    } catch (error) {
      const message =
        error instanceof PoolBusy
          ? 'Too many texts wait for their tokens to be counted; try again after Retry-After seconds.'
          : 'The tokens could not be counted in time; try again after Retry-After seconds.'
      throw new GatewayError('too_many_requests_open', { message, retryAfterSeconds: RETRY_SECONDS, cause: error })
    }
  }

  /** The tokens of each text, or null when they cannot be counted soon. Never rejects. @param accountId as `count` has it */
  countSoon(texts: readonly (string | TextSample)[], accountId: string): Promise<number[] | null> {
    const { estimateTimeoutMs } = this.limits
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(null), estimateTimeoutMs)
      const done = (counts: number[] | null): void => {
        clearTimeout(timer)
        resolve(counts)
      }
      const input = this.input(texts, estimateTimeoutMs * (1 - WAY_SHARE))
      this.pool.run('countTokens', input, accountId).then(done, () => done(null))
    })
  }

  close(): Promise<void> {
    return this.pool.close()
  }

  private input(texts: readonly (string | TextSample)[], withinMs: number): CountInput {
    const { countWorkMs, countCharactersMax } = this.limits
    const samples = texts.map((text) => (typeof text === 'string' ? sampleText(text, countCharactersMax) : text))
    return { texts: samples, workMs: countWorkMs, endsAtMs: Date.now() + withinMs }
  }
}
