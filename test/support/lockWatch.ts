import { appendFileSync } from 'node:fs'
import pg from 'pg'
import { watchLocks } from '../../control/runtime/db/lockOrder.ts'
import { TransactionLocks } from './transactionLocks.ts'

// Checks that every transaction of the process locks in the order of LOCK_ORDER. Loaded before a program or a test, by
// `node --import`. A breach ends the process, because loops of control log what they catch and go on.

/** Statements that lock rows or tables until the end of their transaction, and may wait for them. */
const LOCKS =
  /\bFOR (?:NO KEY )?UPDATE\b(?!.*\bSKIP LOCKED\b)|\bFOR (?:KEY )?SHARE\b|\bLOCK TABLE\b|\bpg_advisory_xact_lock\(/s

/** The open transaction of each connection. */
const open = new WeakMap<object, TransactionLocks>()
/** Connections whose next statement is known to lock. */
const announced = new WeakSet<object>()

function textOf(statement: unknown): string {
  if (typeof statement === 'string') return statement
  return String((statement as { text?: unknown } | undefined)?.text ?? '')
}

function fail(fault: string): void {
  Error.stackTraceLimit = 40
  const error = new Error(`lock order: ${fault}`)
  if (process.env['LOCK_FAULTS'] !== undefined) {
    const stack = (error.stack ?? '')
      .split('\n')
      .slice(1)
      .filter((l) => l.includes('/dist/') && !l.includes('lockWatch') && !l.includes('lockOrder'))
      .slice(0, 7)
      .map((l) =>
        l
          .trim()
          .replace(/^at /, '')
          .replace(/file:.*dist\//, '')
          .replace(/\(/, ''),
      )
    appendFileSync(process.env['LOCK_FAULTS'], `${fault}\n     ${stack.join('\n     ')}\n`)
    return
  }
  queueMicrotask(() => {
    throw error
  })
}

/** Whether control asks, and not a test that stands in its way. */
function isOfControl(): boolean {
  const frames = (new Error().stack ?? '').split('\n').filter((frame) => frame.includes('/dist/'))
  return frames.find((frame) => !frame.includes('lockWatch'))?.includes('/dist/control/') === true
}

watchLocks({
  locks(client, kind, ids) {
    announced.add(client)
    const fault = open.get(client)?.take(kind, ids)
    if (fault !== undefined) fail(fault)
  },
  makes(client, kind, ids) {
    open.get(client)?.make(kind, ids)
  },
})

const query = pg.Client.prototype.query as (...values: unknown[]) => unknown
pg.Client.prototype.query = function watched(this: pg.Client, ...values: unknown[]): unknown {
  const text = textOf(values[0])
  if (text === 'BEGIN') open.set(this, new TransactionLocks())
  else if (text === 'COMMIT' || text === 'ROLLBACK') open.delete(this)
  else if (open.has(this) && LOCKS.test(text) && !/\bCREATE\b/.test(text) && !announced.has(this) && isOfControl())
    fail(`nothing says what this locks: ${text}`)
  announced.delete(this)
  return query.apply(this, values)
} as typeof pg.Client.prototype.query
