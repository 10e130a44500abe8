import pg from 'pg'
import { emptyHistogram, type Histogram, observe } from '../../../contract/std/exposition.ts'
import type { LabelledTotal } from '../metrics/metricGroups.ts'

/** Upper bounds of the times of statements, in seconds. */
export const STATEMENT_SECONDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30]

type ErrorClass = 'connection' | 'timeout' | 'conflict' | 'content' | 'other'

/** How long statements take and how they fail, over the connections of a pool. */
export class StatementTimes {
  readonly seconds: Histogram = emptyHistogram(STATEMENT_SECONDS)
  private readonly errors = new Map<ErrorClass, number>()

  readonly total: LabelledTotal = {
    name: 'postgres_errors',
    help: 'Statements that failed: for their connection, also one that could not be made, their time, another transaction, their content, or anything else',
    labels: ['class'],
    read: () => Array.from(this.errors, ([name, count]) => ({ labels: { class: name }, count })),
  }

  /** The class of the connections whose statements are measured. */
  get client(): new () => pg.Client {
    const times = this
    class Measured extends pg.Client {}
    const send = pg.Client.prototype.query as (this: pg.Client, ...given: readonly unknown[]) => unknown
    Reflect.set(Measured.prototype, 'query', function query(this: pg.Client, ...given: readonly unknown[]): unknown {
      const sentAt = performance.now()
      const done = given.at(-1)
      if (typeof done === 'function') {
        return send.call(this, ...given.slice(0, -1), (error: unknown, ...rest: readonly unknown[]) => {
          times.note(sentAt, error)
          done(error, ...rest)
        })
      }
      const result = send.call(this, ...given)
      // A copy is a stream, and not measured.
      if (result instanceof Promise) {
        result.then(
          () => times.note(sentAt, undefined),
          (error: unknown) => times.note(sentAt, error),
        )
      }
      return result
    })
    const connect = pg.Client.prototype.connect as (this: pg.Client, done: (error?: Error) => void) => void
    // As the pool calls it: no statement is sent where there is no connection.
    Reflect.set(
      Measured.prototype,
      'connect',
      function connected(this: pg.Client, done: (error?: Error) => void): void {
        connect.call(this, (error) => {
          if (error) times.count('connection')
          done(error)
        })
      },
    )
    return Measured
  }

  private note(sentAt: number, error: unknown): void {
    observe(this.seconds, STATEMENT_SECONDS, (performance.now() - sentAt) / 1_000)
    if (error === null || error === undefined) return
    this.count(classOf(error))
  }

  private count(name: ErrorClass): void {
    this.errors.set(name, (this.errors.get(name) ?? 0) + 1)
  }
}

/** By SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
function classOf(error: unknown): ErrorClass {
  const { code } = error as { code?: unknown }
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) return 'connection'
  if (code === '57014' || code === '55P03') return 'timeout'
  if (code.startsWith('08') || code.startsWith('57')) return 'connection'
  if (code.startsWith('40')) return 'conflict'
  return code.startsWith('22') || code.startsWith('23') ? 'content' : 'other'
}
