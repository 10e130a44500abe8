import { Connection, type ConnectionOwner, type Origin } from './connection.ts'

export interface PoolOptions {
  readonly endpoint: Origin
  readonly connectionsMax: number
  /** How long a connection without a request is kept. */
  readonly idleMs: number
}

/** The connections to one origin. The one used last is used next, so that the others can be closed as idle. */
export class ConnectionPool implements ConnectionOwner {
  private readonly options: PoolOptions
  private readonly all = new Set<Connection>()
  private readonly idle: Connection[] = []

  constructor(options: PoolOptions) {
    this.options = options
  }

  /** It has no connections. */
  get isEmpty(): boolean {
    return this.all.size === 0
  }

  /** A request is under way. */
  get isBusy(): boolean {
    return this.all.size > this.idle.length
  }

  /**
   * A connection without a request.
   * @param fresh never one that has carried a request before
   * @returns undefined when all connections that may be open are busy
   */
  take(fresh: boolean): Connection | undefined {
    const kept = fresh ? undefined : this.idle.pop()
    if (kept !== undefined) return kept
    if (this.all.size >= this.options.connectionsMax) return undefined
    const connection = new Connection(this.options.endpoint, this)
    this.all.add(connection)
    return connection
  }

  /** Checks the deadlines of every request, and lets connections go that have been idle for long. */
  check(nowMs: number): void {
    for (const connection of this.all) connection.check(nowMs)
    const idleSinceMs = nowMs - this.options.idleMs
    while ((this.idle[0]?.idleSinceMs ?? Number.POSITIVE_INFINITY) <= idleSinceMs) this.idle.shift()?.destroy()
  }

  destroy(): void {
    for (const connection of [...this.all]) connection.destroy()
  }

  onIdle(connection: Connection): void {
    connection.idleSinceMs = performance.now()
    this.idle.push(connection)
  }

  onClosed(connection: Connection): void {
    this.all.delete(connection)
    const at = connection.idleSinceMs === 0 ? -1 : this.idle.indexOf(connection)
    if (at >= 0) this.idle.splice(at, 1)
  }
}
