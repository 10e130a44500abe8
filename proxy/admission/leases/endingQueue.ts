import type { LeasedEnding } from './batch.ts'
import type { LeaseContext } from './leaseContext.ts'
import type { EndedHold } from './openHold.ts'
import { isSingle } from './singleHold.ts'

/** The parts of the context that the queue needs. */
type QueueContext = Pick<LeaseContext, 'limits' | 'journaled' | 'onFault'>

/** A waiter that is called back once Redis has an ending, or after a while that it takes longer. */
interface WaitingForRedis {
  readonly ended: EndedHold
  readonly timer: NodeJS.Timeout
}

/** The endings of a shard that Redis has not taken, in the order of their numbers. */
export class EndingQueue {
  private readonly context: QueueContext
  private endings: LeasedEnding[] = []
  private deliveredSeq = 0
  /** The number of the newest ending of a single hold. */
  private lastSingle = 0
  private waiting: WaitingForRedis[] = []

  constructor(context: QueueContext) {
    this.context = context
  }

  get length(): number {
    return this.endings.length
  }

  get all(): readonly LeasedEnding[] {
    return this.endings
  }

  /** The number of the last ending that Redis has taken. */
  get lastDelivered(): number {
    return this.deliveredSeq
  }

  /** Of the ending that is added next. */
  get nextSeq(): number {
    return this.deliveredSeq + this.endings.length + 1
  }

  /** When the oldest request was held whose ending Redis does not have; infinity when it has all. */
  get oldestHeldAtMs(): number {
    return this.endings[0]?.heldAtMs ?? Number.POSITIVE_INFINITY
  }

  /** A delivery frees money: the uncharged part of a single hold. */
  get isUrgent(): boolean {
    return this.lastSingle > this.deliveredSeq
  }

  add(ending: LeasedEnding): void {
    this.endings.push(ending)
    if (isSingle(ending.lease.field)) this.lastSingle = ending.seq
  }

  /** The oldest, at most `count`. */
  first(count: number): readonly LeasedEnding[] {
    return this.endings.length <= count ? [...this.endings] : this.endings.slice(0, count)
  }

  /** Redis has taken the oldest `count`. */
  delivered(count: number): void {
    this.endings.splice(0, count)
    this.deliveredSeq += count
    this.tellWaiting()
  }

  /** Removes the endings that Redis has taken, up to the number that it reports. */
  trim(deliveredSeq: number): void {
    if (deliveredSeq > this.deliveredSeq) this.delivered(deliveredSeq - this.deliveredSeq)
  }

  /**
   * Delivers everything again that is not booked, because Redis may have lost it. Endings that are no longer in the journal
   * stay delivered, and an operator is notified.
   * @throws the error of the file system when the delivered endings cannot be read
   */
  async goBackTo(bookedSeq: number, shard: number): Promise<void> {
    if (bookedSeq >= this.deliveredSeq) {
      this.trim(bookedSeq)
      return
    }
    const { deliveredSeq } = this
    const again = await this.context.journaled(shard, bookedSeq, deliveredSeq)
    if (again.length !== deliveredSeq - bookedSeq) {
      // Their numbers are not reused, because the book may still receive them: it keeps a gap there.
      this.context.onFault(new Error(`endings of shard ${shard} from ${bookedSeq + 1} are not in the journal`))
      return
    }
    this.endings = [...again, ...this.endings]
    this.deliveredSeq = bookedSeq
  }

  /** Calls the waiter back once the ending is delivered. */
  waitForRedis(ended: EndedHold): void {
    // A failing journal may report later than the delivery completes.
    if (ended.ending.seq <= this.deliveredSeq) {
      this.tell(ended, () => ended.onWritten())
      return
    }
    const timer = setTimeout(() => {
      this.waiting = this.waiting.filter((one) => one.ended !== ended)
      this.tell(ended, () => ended.onDelayed())
    }, this.context.limits.settleTimeoutMs)
    this.waiting.push({ ended, timer })
  }

  private tellWaiting(): void {
    if (this.waiting.length === 0) return
    const told = this.waiting.filter(({ ended }) => ended.ending.seq <= this.deliveredSeq)
    this.waiting = this.waiting.filter(({ ended }) => ended.ending.seq > this.deliveredSeq)
    for (const { ended, timer } of told) {
      clearTimeout(timer)
      this.tell(ended, () => ended.onWritten())
    }
  }

  private tell(ended: EndedHold, call: () => void): void {
    try {
      call()
    } catch (error) {
      this.context.onFault(error)
      ended.onCrashed(error)
    }
  }
}
