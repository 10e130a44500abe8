import type { Redis } from '../../contract/wire/redis.ts'
import { OWNERS_KEY } from '../../contract/wire/redisKeys.ts'
import type { Script } from '../../contract/wire/scripts.ts'

/** Signals that this process is alive, so that control does not release its holds. */
export class Heartbeat {
  /** Redis has taken the last one: it is there, and takes writes. */
  isTaken = false
  private readonly script: Script
  private readonly redis: Redis
  private readonly owner: string
  private readonly intervalMs: number
  private readonly onBeat: (sentAtMs: number, redisMs: number) => void
  private timer: NodeJS.Timeout | undefined

  /**
   * @param onBeat called when Redis has taken a heartbeat, with the time it was sent, by performance.now(), and Redis's
   *   clock
   */
  constructor(
    script: Script,
    redis: Redis,
    owner: string,
    intervalMs: number,
    onBeat: (sentAtMs: number, redisMs: number) => void,
  ) {
    this.script = script
    this.redis = redis
    this.owner = owner
    this.intervalMs = intervalMs
    this.onBeat = onBeat
  }

  /** Resolves when the first heartbeat is accepted: from then on, control releases holds of this owner if it dies. */
  async start(): Promise<void> {
    await this.beat()
    this.timer = setInterval(() => void this.tryBeat(), this.intervalMs)
  }

  /** Signs off; call it when no hold is open any more. */
  async stop(): Promise<void> {
    clearInterval(this.timer)
    await this.redis.zrem(OWNERS_KEY, this.owner)
  }

  private async tryBeat(): Promise<void> {
    await this.beat().catch(() => {
      this.isTaken = false
    })
  }

  private async beat(): Promise<void> {
    const sentAtMs = performance.now()
    this.onBeat(sentAtMs, Number(await this.script([OWNERS_KEY], [this.owner])))
    this.isTaken = true
  }
}
