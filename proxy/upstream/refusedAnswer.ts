import { readProviderError } from '../../contract/providers/providerError.ts'
import { withQuotaWait } from '../../contract/providers/quotaWait.ts'
import { checkDeadlineIn } from '../checkDeadlines.ts'
import { AnswerBody } from './answerBody.ts'
import type { AttemptsOptions } from './attemptsOptions.ts'
import { classifyRefusal, type Refusal } from './refusal.ts'
import { resetWaitMs, retryAfterMs } from './retryAfter.ts'
import type { UpstreamHeaders } from './transport/transport.ts'

/** So short that its JSON is within all bounds of JSON that is parsed on the event loop. The rest of a longer one, an echo mostly, is not read. */
const ERROR_BODY_BYTES_MAX = 65_536
const TOO_MANY = 429

/** An answer with an error status, while it arrives. */
export class RefusedAnswer {
  readonly status: number
  private readonly headers: UpstreamHeaders
  private readonly body = new AnswerBody()
  private readonly timer: NodeJS.Timeout
  private isOver = false

  /** @param onLate called when its body has not come `waitMs` after its head */
  constructor(status: number, headers: UpstreamHeaders, waitMs: number, onLate: () => void) {
    this.status = status
    this.headers = headers
    this.timer = checkDeadlineIn(waitMs, () => {
      if (!this.isOver) onLate()
    })
  }

  /** @returns whether more of it is read */
  add(bytes: Buffer): boolean {
    const room = ERROR_BODY_BYTES_MAX - this.body.length
    this.body.add(bytes.subarray(0, room), ERROR_BODY_BYTES_MAX)
    return bytes.length <= room
  }

  /** Nothing more of it is awaited. */
  stop(): void {
    this.isOver = true
    clearTimeout(this.timer)
  }

  /** Its meaning, once it is whole or no more of it is awaited. */
  read({ rule, classify, limits }: AttemptsOptions): Refusal {
    this.stop()
    const { status } = this
    const nowMs = Date.now()
    const headMs = retryAfterMs(this.headers, nowMs, Number.MAX_SAFE_INTEGER)
    const body = this.body.take().toString('utf8')
    const stated = readProviderError(body)
    const waitMs = this.waitMs(headMs || (stated.retryAfterMs ?? 0), nowMs, limits.retryAfterSecondsMax * 1000)
    const error = withQuotaWait(status, stated, headMs)
    return classify?.(status, body, error, waitMs) ?? classifyRefusal(status, error, waitMs, rule.ownStatus)
  }

  private waitMs(statedMs: number, nowMs: number, maxMs: number): number {
    if (statedMs > 0) return Math.min(statedMs, maxMs)
    return this.status === TOO_MANY ? resetWaitMs(this.headers, nowMs, maxMs) : 0
  }
}
