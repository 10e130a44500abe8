import { DAY_MS, parseDay } from '../../../contract/api/time.ts'
import type { BookLimits } from '../limits.ts'
import type { UsageGroup } from './usageGroups.ts'
import type { UsageQuery } from './usageReads.ts'

const DAYS_USUAL = 30
const PAGE_USUAL = 100

/** The fields of a usage query; the schema of the route, or the command line, has checked their formats. */
export interface UsageFields {
  readonly from?: string
  readonly to?: string
  readonly group_by?: string
  readonly model?: string
  readonly key?: string
  readonly limit?: number
  readonly after?: string
}

/**
 * A usage query with its defaults filled in: the last 30 days, by day.
 * @param accountId undefined for all accounts
 */
export function usageQuery(accountId: string | undefined, fields: UsageFields, limits: BookLimits): UsageQuery {
  const today = Math.floor(Date.now() / DAY_MS)
  const from = fields.from === undefined ? undefined : parseDay(fields.from)
  const toDay = (fields.to === undefined ? undefined : parseDay(fields.to)) ?? Math.max(today, from ?? 0)
  return {
    accountId,
    fromDay: from ?? toDay - DAYS_USUAL + 1,
    toDay,
    groupBy: [...new Set((fields.group_by ?? 'day').split(',') as UsageGroup[])],
    model: fields.model ?? '',
    keyId: fields.key ?? '',
    platformKeyId: '',
    limit: fields.limit ?? Math.min(PAGE_USUAL, limits.usagePageMax),
    after: fields.after ?? '',
  }
}
