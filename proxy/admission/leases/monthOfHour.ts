const HOUR_MS = 3_600_000
const MONTHS = 12
const EPOCH_YEAR = 1970

/** The month since 1970, UTC, that an hour since 1970 is in. */
export function monthOfHour(hour: number): number {
  const date = new Date(hour * HOUR_MS)
  return (date.getUTCFullYear() - EPOCH_YEAR) * MONTHS + date.getUTCMonth()
}
