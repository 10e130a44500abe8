import { GatewayError } from '../../contract/errors/errors.ts'
import type { PaymentCheck, Verdict } from '../../contract/payments/verdict.ts'
import type { WorkerPool } from '../../workers/pool.ts'
import type { PaymentLimits } from './limits.ts'

interface Waiting {
  readonly check: PaymentCheck
  readonly resolve: (verdict: Verdict) => void
  readonly reject: (error: unknown) => void
}

/** Has signatures checked on the threads of a pool. Those that arrive in one turn of the event loop travel together. */
export class PaymentVerifier {
  private readonly pool: WorkerPool
  private readonly limits: Pick<PaymentLimits, 'verifyBatchMax' | 'verifyPendingMax'>
  private waiting: Waiting[] = []
  private pending = 0

  constructor(pool: WorkerPool, limits: Pick<PaymentLimits, 'verifyBatchMax' | 'verifyPendingMax'>) {
    this.pool = pool
    this.limits = limits
  }

  /**
   * Checks one payment's signature.
   * @throws GatewayError payments_busy when the queue is full
   */
  async verify(check: PaymentCheck): Promise<Verdict> {
    if (this.pending >= this.limits.verifyPendingMax) throw new GatewayError('payments_busy', { retryAfterSeconds: 1 })
    this.pending++
    try {
      return await new Promise<Verdict>((resolve, reject) => {
        if (this.waiting.length === 0) setImmediate(() => this.flush())
        this.waiting.push({ check, resolve, reject })
      })
    } finally {
      this.pending--
    }
  }

  private flush(): void {
    const waiting = this.waiting
    this.waiting = []
    const share = Math.ceil(waiting.length / this.pool.threadsMax)
    const size = Math.min(share, this.limits.verifyBatchMax)
    for (let from = 0; from < waiting.length; from += size) this.send(waiting.slice(from, from + size))
  }

  private send(batch: readonly Waiting[]): void {
    const checks = batch.map(({ check }) => check)
    this.pool.run('verifyPayments', checks).then(
      (verdicts) => {
        for (const [i, { resolve, reject }] of batch.entries()) {
          const verdict = verdicts[i]
          if (verdict === undefined) reject(new Error('a worker answered too few verdicts'))
          else resolve(verdict)
        }
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error)
      },
    )
  }
}
