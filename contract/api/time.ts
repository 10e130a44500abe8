const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
const DAY = /^(\d{4})-(\d\d)-(\d\d)$/
const MONTH = /^(\d{4})-(\d\d)$/

export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** Milliseconds since 1970 of an RFC 3339 time such as 2027-01-31T12:00:00Z; undefined when it is invalid. */
export function parseTime(text: string): number | undefined {
  const [, day = ''] = RFC_3339.exec(text) ?? []
  const ms = parseDay(day) === undefined ? Number.NaN : Date.parse(text)
  return Number.isFinite(ms) ? ms : undefined
}

/** The number of days since 1970, UTC, of a day such as 2027-01-31; undefined when there is no such day. */
export function parseDay(text: string): number | undefined {
  if (!DAY.test(text)) return undefined
  const ms = Date.parse(`${text}T00:00:00Z`)
  // Node takes February 30 for March 2.
  return Number.isFinite(ms) && formatDay(ms / DAY_MS) === text ? ms / DAY_MS : undefined
}

/** A day such as 2027-01-31. @param day number of days since 1970, UTC */
export function formatDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** The first moments, UTC, of a month such as 2027-01 and of the one after it; undefined when there is no such month. */
export function parseMonth(text: string): { startMs: number; endMs: number } | undefined {
  const [, year, month] = (MONTH.exec(text) ?? []).map(Number)
  if (year === undefined || month === undefined || year < 1970 || month < 1 || month > 12) return undefined
  return { startMs: Date.UTC(year, month - 1, 1), endMs: Date.UTC(year, month, 1) }
}
