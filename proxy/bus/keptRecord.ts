import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../contract/wire/redis.ts'

const RETRY_MS = 100
const RETRY_MAX_MS = 2_000

export interface KeptRecordOptions {
  readonly redis: Pick<Redis, 'getBuffer'>
  readonly key: string
  /**
   * Called with every record that differs from the previous one. @throws when it cannot be read; the previous one stays in
   * force
   */
  readonly onChange: (bytes: Buffer) => void
  readonly onFault: (error: unknown) => void
}

/** A record that control keeps in Redis, read from there at the start and whenever the feed announces a change. */
export class KeptRecord {
  private readonly options: KeptRecordOptions
  private bytes: Buffer | undefined
  private wanted = false
  private renewing = false
  private stopped = false

  constructor(options: KeptRecordOptions) {
    this.options = options
  }

  /**
   * Reads the record.
   * @returns whether there is one, or was
   */
  async refresh(): Promise<boolean> {
    const bytes = await this.options.redis.getBuffer(this.options.key)
    if (bytes === null) return this.bytes !== undefined
    if (this.bytes !== undefined && bytes.equals(this.bytes)) return true
    this.options.onChange(bytes)
    this.bytes = bytes
    return true
  }

  /** Reads the record in the background, with retries until one read succeeds after this call. */
  renew(): void {
    this.wanted = true
    if (!this.renewing) void this.renewUntilDone()
  }

  /** Tries no more. */
  stop(): void {
    this.stopped = true
  }

  private async renewUntilDone(): Promise<void> {
    this.renewing = true
    let pauseMs = RETRY_MS
    while (this.wanted && !this.stopped) {
      this.wanted = false
      try {
        await this.refresh()
        pauseMs = RETRY_MS
      } catch (error) {
        this.options.onFault(error)
        this.wanted = true
        await sleep(pauseMs, undefined, { ref: false })
        pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)
      }
    }
    this.renewing = false
  }
}
