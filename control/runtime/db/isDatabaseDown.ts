// Classes and codes of https://www.postgresql.org/docs/current/errcodes-appendix.html: connection exceptions, and a
// server that is shutting down, crashed or starting.
const SQL_STATES = /^(?:08...|57P0[1-3])$/
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

/** Whether an error says that PostgreSQL cannot be reached now, rather than that a statement was wrong. */
export function isDatabaseDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code: unknown = Reflect.get(error, 'code')
  if (typeof code === 'string' && (SQL_STATES.test(code) || SOCKET_CODES.has(code))) return true
  if (error instanceof AggregateError) return error.errors.some(isDatabaseDown)
  return DRIVER_MESSAGES.test(error.message)
}
