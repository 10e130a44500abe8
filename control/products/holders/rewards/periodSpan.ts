import type { Span } from './holderWeights.ts'

/** A period of revenue: from its start up to but without its end. */
export interface PeriodSpan extends Span {
  readonly startsAt: Date
  readonly endsAt: Date
}

const MS = 1_000

/**
 * The period that begins at a moment: it ends at the next whole multiple of the length since 1970, also after the length was
 * changed.
 * @param startsAt whole seconds
 */
export function nextSpan(startsAt: Date, periodSeconds: number): PeriodSpan {
  const fromSeconds = Math.floor(startsAt.getTime() / MS)
  const untilSeconds = (Math.floor(fromSeconds / periodSeconds) + 1) * periodSeconds
  return { startsAt, endsAt: new Date(untilSeconds * MS), fromSeconds, untilSeconds }
}
