import type { Logger } from 'pino'

/** The level of an event, the text of its line and, where an operator can do something about it, the advice. */
export type LogEventRow = readonly [level: LogLevel, text: string, advice?: string]

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal'

/** Rows by the stable name of the event, in snake_case. */
export type LogEventTable = Readonly<Record<string, LogEventRow>>

/** Writes one line of the log: the level and the text of the event's row, its name, and `fields`. */
export type LogEvent<Table extends LogEventTable> = (
  log: Logger,
  event: keyof Table & string,
  fields?: Readonly<Record<string, unknown>>,
) => void

/** @returns the function that logs the events of `table`; a name that has no row does not compile */
export function logEventOf<Table extends LogEventTable>(table: Table): LogEvent<Table> {
  return (log, event, fields) => {
    const [level, text] = table[event] as LogEventRow
    log[level]({ event, ...fields }, text)
  }
}

/** The least time between two lines of the same error. */
const REPEAT_MS = 60_000
/** Errors that are known; beyond it all are forgotten, and logged again. */
const ERRORS_MAX = 200

interface Logged {
  readonly atMs: number
  repeats: number
}

/**
 * @param now a clock in milliseconds
 * @returns the function that logs events of errors that come again as long as their cause lasts: the same error with the same fields
 *   is one line a minute, with the number of `repeats` that were left out
 */
export function logRepeatOf<Table extends LogEventTable>(
  table: Table,
  now: () => number = () => performance.now(),
): LogEvent<Table> {
  const logEvent = logEventOf(table)
  const known = new WeakMap<Logger, Map<string, Logged>>()
  return (log, event, fields) => {
    const errors = known.get(log) ?? new Map<string, Logged>()
    known.set(log, errors)
    const { err, ...others } = fields ?? {}
    const name = JSON.stringify([event, others, String(err)])
    const logged = errors.get(name)
    const atMs = now()
    if (logged !== undefined && atMs - logged.atMs < REPEAT_MS) {
      logged.repeats++
      return
    }
    if (errors.size >= ERRORS_MAX) errors.clear()
    errors.set(name, { atMs, repeats: 0 })
    logEvent(log, event, logged === undefined || logged.repeats === 0 ? fields : { ...fields, repeats: logged.repeats })
  }
}
