import { DAY_MS, HOUR_MS } from '../../../contract/api/time.ts'
import { type Days, monthsOf } from './periods.ts'
import type { GroupRow, UsageGroup, UsageGroups } from './usageGroups.ts'

/** Days that are read first of those that follow each other, and names. */
const FIRST_DAYS = 2
const FIRST_DAYS_BY_HOUR = 1
const FIRST_NAMES = 4
/** By how much more is read than is missing by the average of what was read before; and where nothing was found. */
const SPARE = 1.25
const GROWTH = 6

/** A page that is read part by part, each part with few rows. */
export interface PartedPage {
  /** Periods first. */
  readonly groupBy: readonly UsageGroup[]
  readonly days: Days
  readonly groups: UsageGroups
  /** Groups that are wanted. */
  readonly most: number
  /** Reads the first groups of a part. @param names only these of the first group that is no period */
  readonly read: (days: Days, most: number, names?: readonly string[]) => Promise<GroupRow[]>
  /** The values of the first group that is no period, in their order, where they have to be read one after the other. */
  readonly names?: () => Promise<readonly string[]>
}

/**
 * Reads the first groups of a page. Where they are ordered by day it reads the latest days first, until there are enough, and so
 * on; days that the page does not show are not added up.
 */
export async function readParts(page: PartedPage): Promise<GroupRow[]> {
  const { groupBy, most, read, groups } = page
  const days = daysFrom(page)
  if (groupBy.includes('day') || groupBy.includes('hour')) {
    const first = groupBy.includes('hour') ? FIRST_DAYS_BY_HOUR : FIRST_DAYS
    return fill(days.toDay - days.fromDay + 1, first, most, (from, count, missing) => {
      const toDay = days.toDay - from
      return read({ fromDay: toDay - count + 1, toDay }, missing)
    })
  }
  if (page.names === undefined) return read(days, most)
  const names = await page.names()
  const isByMonth = groupBy[0] === 'month'
  const found: GroupRow[] = []
  // The names before that of the last group of the page before are on that page, in its month.
  let begun = Math.max(0, names.indexOf(String(groups.place[isByMonth ? 1 : 0])))
  for (const part of isByMonth ? monthsOf(days) : [days]) {
    const begin = begun
    begun = 0
    found.push(
      ...(await fill(names.length - begin, FIRST_NAMES, most - found.length, (from, count, missing) =>
        read(part, missing, names.slice(begin + from, begin + from + count)),
      )),
    )
    if (found.length >= most) break
  }
  return found
}

/** Without the days after those of the last group of the page before. */
function daysFrom({ groupBy, days, groups }: PartedPage): Days {
  const [first] = groupBy
  const last = -Number(groups.place[0])
  if (Number.isNaN(last)) return days
  if (first === 'day') return { ...days, toDay: Math.min(days.toDay, last) }
  if (first === 'hour') return { ...days, toDay: Math.min(days.toDay, Math.floor(last / (DAY_MS / HOUR_MS))) }
  if (first !== 'month') return days
  const lastDay = Date.UTC(Math.floor(last / 12), (last % 12) + 1, 1) / DAY_MS - 1
  return { ...days, toDay: Math.min(days.toDay, lastDay) }
}

/** Reads parts of a row of things until there are enough groups. */
async function fill(
  length: number,
  first: number,
  most: number,
  read: (from: number, count: number, missing: number) => Promise<readonly GroupRow[]>,
): Promise<GroupRow[]> {
  const found: GroupRow[] = []
  for (let [from, count] = [0, first]; from < length && found.length < most; ) {
    const size = Math.min(count, length - from)
    found.push(...(await read(from, size, most - found.length)))
    from += size
    const each = found.length / from
    count = each === 0 ? count * GROWTH : Math.ceil(((most - found.length) / each) * SPARE)
  }
  return found
}
