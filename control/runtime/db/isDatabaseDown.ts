// Classes and codes of https://www.postgresql.org/docs/current/errcodes-appendix.html: connection exceptions, sessions that the
// server ended because it stops, crashed, starts or wants them no longer, a want of disk, memory or connections, a disk that
// fails, and a server that takes no writes.
const READ_ONLY = '25006'
const SQL_STATES = new RegExp(`^(?:08...|57P0[1-5]|53...|58030|${READ_ONLY})$`)
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
])
// The driver gives its own connection failures no code.
const DRIVER_MESSAGES =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/

/** Whether an error says that PostgreSQL cannot be reached or takes no work now, rather than that a statement was wrong. */
export function isDatabaseDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code: unknown = Reflect.get(error, 'code')
  if (typeof code === 'string' && (SQL_STATES.test(code) || SOCKET_CODES.has(code))) return true
  if (error instanceof AggregateError) return error.errors.some(isDatabaseDown)
  return DRIVER_MESSAGES.test(error.message)
}

/** A server that only reads: a standby, or one that was made read-only, as managed services do when its disk is full. */
export class ReadOnlyDatabaseError extends Error {
  readonly code = READ_ONLY

  constructor() {
    super('PostgreSQL takes no writes: it is a standby, or default_transaction_read_only is on')
  }
}
