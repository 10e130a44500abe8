import { type Days, firstOfMonth, firstOfNextMonth } from './periods.ts'

/** Days whose usage is read together: from rows of months or days of rollups, or from the sums that these are made of. */
export interface UsageSpan extends Days {
  readonly source: 'month' | 'day' | 'sums'
}

/**
 * Divides days into spans, each of which has as few rows as there are for it.
 * @param untilDay the first day that is not rolled up; 0 for none. The last month has the days before it, however many
 * @param byMonth whether whole months may be read as one
 */
export function spansOf({ fromDay, toDay }: Days, untilDay: number, byMonth: boolean): UsageSpan[] {
  const rolledTo = Math.min(toDay, untilDay - 1)
  const firstMonth = firstOfMonth(fromDay) === fromDay ? fromDay : firstOfNextMonth(fromDay)
  const lastWhole = untilDay <= toDay + 1 ? rolledTo : firstOfMonth(toDay + 1) - 1
  const hasMonths = byMonth && firstMonth <= lastWhole
  const spans: readonly UsageSpan[] = [
    { source: 'sums', fromDay: Math.max(fromDay, untilDay), toDay },
    ...(hasMonths
      ? ([
          { source: 'day', fromDay: lastWhole + 1, toDay: rolledTo },
          { source: 'month', fromDay: firstMonth, toDay: lastWhole },
          { source: 'day', fromDay, toDay: firstMonth - 1 },
        ] as const)
      : [{ source: 'day' as const, fromDay, toDay: rolledTo }]),
  ]
  return spans.filter((span) => span.fromDay <= span.toDay)
}
