import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, GatewayError } from '../../../contract/errors/errors.ts'
import type { ContractLimits } from '../../../contract/limits/limits.ts'
import type { sluice } from '../../../contract/wire/generated/messages.js'
import type { Redis } from '../../../contract/wire/redis.ts'
import { holdsKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { ControlUnavailable, type RpcClient } from '../../bus/rpcClient.ts'

/** The cause of a refusal of a job that control may have taken all the same: its hold has to be released there as well. */
export const MAYBE_TAKEN: unique symbol = Symbol('what became of a batch job is not known')

/** The errors that control answers before it takes over a hold; any other error may occur after that. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['batch_unavailable', 'invalid_request', 'rate_limited'])

export interface BatchJobsOptions {
  readonly rpc: Pick<RpcClient, 'call'>
  readonly commands: Redis
  readonly owner: string
  readonly limits: ContractLimits
}

export type BatchSubmission = Omit<sluice.SubmitBatchRequest.$Properties, 'owner' | 'takeByMs'> & {
  readonly requestId: string
  readonly accountId: string
  readonly heldAtMs: number
}

/** The job as accepted by control; undefined if control accepted it but its answer was lost. */
export type Taken = sluice.SubmitBatchReply | undefined

/** Hands batch jobs over to control, each together with its hold. */
export class BatchJobs {
  private readonly options: BatchJobsOptions

  constructor(options: BatchJobsOptions) {
    this.options = options
  }

  /**
   * Hands a job over. When control does not answer, the hold decides: control takes a job by taking its hold, before a
   * deadline that this function waits for.
   * @throws GatewayError when the job is not taken: control's error, or batch_unavailable; the hold is still held, and with
   *   the cause MAYBE_TAKEN it may be control's
   */
  async submit(job: BatchSubmission): Promise<Taken> {
    const { rpc, owner, limits } = this.options
    const since = performance.now()
    const takeByMs = job.heldAtMs + limits.rpcTimeoutMs
    try {
      return await rpc.call('submit_batch', { ...job, owner, takeByMs })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (REFUSALS.has(error.row)) throw error
      const isUnsent = error instanceof ControlUnavailable && error.unsent
      const isHeld = isUnsent || (await this.isStillHeld(job, since))
      if (isHeld === undefined) throw notTaken(MAYBE_TAKEN)
      if (isHeld) throw notTaken(error)
      return undefined
    }
  }

  /** @returns undefined while Redis is down */
  private async isStillHeld({ accountId, requestId }: BatchSubmission, since: number): Promise<boolean | undefined> {
    const { commands, owner, limits } = this.options
    await sleep(Math.max(0, since + limits.rpcTimeoutMs + 1 - performance.now()))
    try {
      return (await commands.hexists(holdsKey(shardOf(accountId), owner), requestId)) === 1
    } catch {
      return undefined
    }
  }
}

function notTaken(cause: unknown): GatewayError {
  return new GatewayError('batch_unavailable', {
    message: 'The gateway takes no batch jobs now; try again after Retry-After seconds.',
    status: 503,
    retryAfterSeconds: 5,
    cause,
  })
}
