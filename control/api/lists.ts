import type { ApiCall } from './call.ts'
import type { ApiLimits } from './limits.ts'

const PAGE_DEFAULT = 20

/** Which page of a list a request asks for. */
export interface Page {
  readonly limit: number
  /** The id of the last entry of the page before, or ''. */
  readonly after: string
}

/** @param limits of which listPageMax bounds the usual page; the schema of the query has bounded the others */
export function pageOf(call: ApiCall, limits: ApiLimits): Page {
  const { limit, after } = call.query
  const usual = Math.min(PAGE_DEFAULT, limits.listPageMax)
  return { limit: typeof limit === 'number' ? limit : usual, after: typeof after === 'string' ? after : '' }
}

/** A page of a list. @param found one entry more than the page holds, when there are more */
export function listJson<Entry>(found: readonly Entry[], limit: number) {
  return { object: 'list' as const, data: found.slice(0, limit), has_more: found.length > limit }
}
