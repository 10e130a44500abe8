import pg from 'pg'
import { watchLocks } from '../../control/runtime/db/lockOrder.ts'
import { TransactionLocks } from './transactionLocks.ts'

// Checks, in a process that imports it, that every transaction locks in the order of LOCK_ORDER, and says what it locks.

/** Statements that lock rows or tables until the end of their transaction, and may wait for them. */
const LOCKS =
  /\bFOR (?:NO KEY )?UPDATE\b(?!.*\bSKIP LOCKED\b)|\bFOR (?:KEY )?SHARE\b|\bLOCK TABLE\b|\bpg_advisory_xact_lock\(/s
const IS_MIGRATION = /\bCREATE\b/

/** The open transaction of each connection. */
const open = new WeakMap<object, TransactionLocks>()
/** Connections whose next statement has said what it locks. */
const announced = new WeakSet<object>()

// It ends the process, or fails the test in it: loops of control log what they catch, and go on.
let fail = (fault: string): void => {
  const error = new Error(`lock order: ${fault}`)
  queueMicrotask(() => {
    throw error
  })
}

/** Gives breaches to a test in place of failing. @returns what ends that */
export function catchBreaches(caught: (fault: string) => void): () => void {
  const before = fail
  fail = caught
  return () => {
    fail = before
  }
}

/** Whether control asks, and not a test that gets in its way. */
function isOfControl(): boolean {
  const frames = (new Error().stack ?? '').split('\n').filter((frame) => frame.includes('/dist/'))
  return frames.find((frame) => !frame.includes('/lockWatch.'))?.includes('/dist/control/') === true
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
  else if (open.has(this) && locksSilently(this, text)) fail(`nothing says what this locks: ${text}`)
  announced.delete(this)
  return query.apply(this, values)
} as typeof pg.Client.prototype.query

function locksSilently(client: pg.Client, text: string): boolean {
  return LOCKS.test(text) && !IS_MIGRATION.test(text) && !announced.has(client) && isOfControl()
}

function textOf(statement: unknown): string {
  if (typeof statement === 'string') return statement
  return String((statement as { text?: unknown } | undefined)?.text ?? '')
}
