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
