import type { Redis } from '../../../contract/wire/redis.ts'
import { videoWakeChannel } from '../../../contract/wire/redisKeys.ts'

export interface VideoWakesOptions {
  readonly commands: Redis
  /** A connection that only subscribes. */
  readonly subscriber: Redis
  /** This process, as in the jobs that it follows. */
  readonly owner: string
  readonly onFault: (error: unknown) => void
}

/**
 * Notifies the process that follows a video job that a client asks for it, so that the provider is polled immediately and not
 * only at the next interval. A lost message only delays the answer.
 */
export class VideoWakes {
  private readonly options: VideoWakesOptions
  private onWake: (videoId: string) => void = () => undefined

  constructor(options: VideoWakesOptions) {
    this.options = options
  }

  /** @param onWake called with each job of this process that a client asks for */
  async listen(onWake: (videoId: string) => void): Promise<void> {
    this.onWake = onWake
    const { subscriber, owner } = this.options
    const own = Buffer.from(videoWakeChannel(owner))
    subscriber.on('messageBuffer', (channel: Buffer, message: Buffer) => {
      if (channel.equals(own)) this.onWake(message.toString('latin1'))
    })
    await subscriber.subscribe(own.toString())
  }

  /** @param owner the process that follows the job */
  wake(owner: string, videoId: string): void {
    if (owner === this.options.owner) this.onWake(videoId)
    else this.options.commands.publish(videoWakeChannel(owner), videoId).catch(this.options.onFault)
  }
}
