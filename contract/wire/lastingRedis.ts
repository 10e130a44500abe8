import { Redis, type RedisOptions } from 'ioredis'

/** The wait before a connection that was given up is opened again. */
const AGAIN_MS = 50

/**
 * A connection to one server at a time that only `disconnect()` ends. ioredis gives a connection up for good when its
 * attempt to connect is interrupted, for example by a failover message of Sentinel while it asks Sentinel for the master.
 */
export class LastingRedis extends Redis {
  private isClosed = false

  /** @param address of one server; that of a master that Sentinel names is found by `options` */
  constructor(address: string | undefined, options: Omit<RedisOptions, 'replyMapping'>) {
    // The overloads take an address or none.
    if (address === undefined) super(options)
    else super(address, options)
    this.on('end', () => this.connectAgain())
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) this.isClosed = true
    super.disconnect(reconnect)
  }

  private connectAgain(): void {
    if (this.isClosed) return
    setTimeout(() => {
      // A failure is reported as an error of the connection.
      if (!this.isClosed) this.connect().catch(() => {})
    }, AGAIN_MS)
  }
}
