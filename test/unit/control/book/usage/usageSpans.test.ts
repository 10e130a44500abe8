// Goal: spans read every day once, whole months and days that are rolled up from rollups, and days that are not from their sums.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseDay } from '../../../../../contract/api/time.ts'
import { firstOfMonth, firstOfNextMonth, monthOf, monthsOf } from '../../../../../control/book/usage/periods.ts'
import { spansOf } from '../../../../../control/book/usage/usageSpans.ts'

const day = (text: string): number => parseDay(text) ?? assert.fail(text)

test('a year up to today has the months, the days before the first of them, and the days since the rollups', () => {
  const spans = spansOf({ fromDay: day('2026-01-20'), toDay: day('2026-11-27') }, day('2026-11-26'), true)
  assert.deepEqual(spans, [
    { source: 'sums', fromDay: day('2026-11-26'), toDay: day('2026-11-27') },
    { source: 'month', fromDay: day('2026-02-01'), toDay: day('2026-11-25') },
    { source: 'day', fromDay: day('2026-01-20'), toDay: day('2026-01-31') },
  ])
  const past = spansOf({ fromDay: day('2026-02-01'), toDay: day('2026-03-05') }, day('2026-11-26'), true)
  assert.deepEqual(past, [
    { source: 'day', fromDay: day('2026-03-01'), toDay: day('2026-03-05') },
    { source: 'month', fromDay: day('2026-02-01'), toDay: day('2026-02-28') },
  ])
})

test('every day is in one span, and months are read as one where all of their days are meant', () => {
  fc.assert(
    fc.property(
      fc.record({ from: fc.nat(900), length: fc.nat(400), until: fc.nat(1_400), byMonth: fc.boolean() }),
      ({ from, length, until, byMonth }) => {
        const days = { fromDay: 20_000 + from, toDay: 20_000 + from + length }
        const untilDay = until === 0 ? 0 : 20_000 + until
        const spans = spansOf(days, untilDay, byMonth)
        const read = spans.flatMap((span) =>
          Array.from({ length: span.toDay - span.fromDay + 1 }, (_, i) => ({
            day: span.fromDay + i,
            source: span.source,
          })),
        )
        const expected = Array.from({ length: length + 1 }, (_, i) => days.fromDay + i)
        assert.deepEqual(
          read.map(({ day: each }) => each).sort((a, b) => a - b),
          expected,
        )
        for (const { day: each, source } of read) {
          assert.equal(source === 'sums', each >= untilDay, 'days that are not rolled up have sums alone')
          const [first, next] = [firstOfMonth(each), firstOfNextMonth(each)]
          const isWhole = first >= days.fromDay && Math.min(next, untilDay) - 1 <= days.toDay
          if (source !== 'sums') assert.equal(source === 'month', byMonth && isWhole)
        }
      },
    ),
  )
})

test('months divide days, the latest first', () => {
  const months = monthsOf({ fromDay: day('2026-01-20'), toDay: day('2026-03-03') })
  assert.deepEqual(months, [
    { fromDay: day('2026-03-01'), toDay: day('2026-03-03') },
    { fromDay: day('2026-02-01'), toDay: day('2026-02-28') },
    { fromDay: day('2026-01-20'), toDay: day('2026-01-31') },
  ])
  assert.equal(monthOf(day('2026-03-31')), 2026 * 12 + 2)
})
