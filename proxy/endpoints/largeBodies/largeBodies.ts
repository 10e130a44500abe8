import { GatewayError } from '../../../contract/errors/errors.ts'
import type { JsonBounds } from '../../../contract/std/jsonExcess.ts'
import { errorOf } from '../../../contract/wire/refusal.ts'
import { PoolBusy, WorkerPool } from '../../../workers/pool.ts'
import type { LargeReply, LargeTask, LargeTaskName, LargeTasks, TaskLimits } from './largeTasks.ts'
import type { LargeBodyLimits } from './limits.ts'
import { sharedBytes } from './sharedBytes.ts'

const TASK_FILE = new URL('./tasks/largeTask.js', import.meta.url).href
const RETRY_SECONDS = 1
/** Bodies of clients without a key are parsed at low priority. */
const STRANGERS_NICE = 10
/** No smaller body is large, so that for most bodies the size alone decides. */
const LARGE_BYTES_LEAST = 16_384

/** The kind of the body's sender: one with a valid credential, or any other. */
export type BodyOwner = 'customer' | 'stranger'
/** Answers of providers are read in addition to the bodies of requests. */
type Source = BodyOwner | 'provider'

interface Lane {
  readonly pool: WorkerPool
  readonly bounds: JsonBounds
  readonly atOnceBytesMax: number
}

/** A body that other threads read. */
export class LargeBody {
  private readonly bytes: Uint8Array
  private readonly lane: Lane
  private readonly accountId: string
  private readonly limits: TaskLimits

  /** @param accountId whose turn its tasks take; '' where the sender is not known yet */
  constructor(body: Buffer, lane: Lane, accountId: string, limits: TaskLimits) {
    this.bytes = sharedBytes(body)
    this.lane = lane
    this.accountId = accountId
    this.limits = limits
  }

  /**
   * Has a task done with the body.
   * @throws GatewayError as the task; 400 for too many members or elements, 429 when too many bodies wait
   */
  async run<Name extends LargeTaskName>(
    name: Name,
    input: LargeTasks[Name]['input'],
  ): Promise<LargeTasks[Name]['output']> {
    const { bytes: body, limits, accountId } = this
    const { bounds, pool } = this.lane
    const task = { name, input, body, bounds, limits } as LargeTask
    const reply = await pool.runFile<LargeTask, LargeReply>(TASK_FILE, task, accountId).catch((error: unknown) => {
      const isBusy = error instanceof PoolBusy || (error instanceof Error && error.name === 'AbortError')
      if (isBusy) throw new GatewayError('too_many_uploads', { retryAfterSeconds: RETRY_SECONDS, cause: error })
      throw error
    })
    if ('refusal' in reply) throw errorOf(reply.refusal)
    return reply.value as LargeTasks[Name]['output']
  }
}

/**
 * Reads large bodies in their own threads, so that none of them holds up the event loop: they parse, check, measure and
 * write for the providers, by accounts in turn. Strangers' bodies have a thread to themselves, and are bounded more closely.
 */
export class LargeBodies {
  private readonly limits: TaskLimits
  private readonly lanes: Readonly<Record<Source, Lane>>

  /** @param onFault called for threads that fail while they are idle */
  constructor(limits: LargeBodyLimits & TaskLimits, onFault: (error: unknown) => void) {
    this.limits = limits
    const { jsonDepthMax: depthMax } = limits
    const newPool = (niceIncrement: number, queueMax: number = limits.largeBodiesWaitingMax) =>
      new WorkerPool({
        threadsMax: 1,
        queueMax,
        taskTimeoutMs: limits.largeBodyTimeoutMs,
        idleTimeoutMs: limits.workerIdleMs,
        niceIncrement,
        onFault,
      })
    this.lanes = {
      customer: {
        pool: newPool(0),
        bounds: { depthMax, membersMax: limits.jsonMembersMax, elementsMax: limits.jsonElementsMax },
        atOnceBytesMax: Math.max(LARGE_BYTES_LEAST, limits.jsonAtOnceBytesMax),
      },
      stranger: {
        pool: newPool(STRANGERS_NICE),
        bounds: { depthMax, membersMax: limits.strangerJsonMembersMax, elementsMax: limits.strangerJsonElementsMax },
        atOnceBytesMax: Math.max(LARGE_BYTES_LEAST, limits.strangerJsonAtOnceBytesMax),
      },
      // Their parsed parts were counted while they arrived.
      provider: {
        pool: newPool(0, limits.largeAnswersWaitingMax),
        bounds: { depthMax, membersMax: Number.POSITIVE_INFINITY, elementsMax: Number.POSITIVE_INFINITY },
        atOnceBytesMax: limits.answerAtOnceBytesMax,
      },
    }
  }

  /** The size up to which a body or an answer is read on the event loop, in bytes. */
  atOnceBytesMax(owner: Source): number {
    return this.lanes[owner].atOnceBytesMax
  }

  /**
   * @param accountId of the request, as LargeBody has it
   * @returns undefined for a body or an answer that is small enough to be read on the event loop
   */
  of(body: Buffer, owner: Source, accountId: string): LargeBody | undefined {
    if (body.length <= LARGE_BYTES_LEAST || body.length <= this.atOnceBytesMax(owner)) return undefined
    return this.toRead(body, owner, accountId)
  }

  /** A body or an answer for another thread to read. @param accountId of the request, as LargeBody has it */
  toRead(body: Buffer, owner: Source, accountId: string): LargeBody {
    return new LargeBody(body, this.lanes[owner], accountId, this.limits)
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.lanes).map(({ pool }) => pool.close()))
  }
}
