import { limits } from '../../contract/limits/limits.ts'
import type { ApiCall } from './call.ts'

const PAGE_DEFAULT = 20

/** Which page of a list a request asks for. */
export interface Page {
  readonly limit: number
  /** The id of the last entry of the page before, or ''. */
  readonly after: string
}

export function pageOf(call: ApiCall, usual = Math.min(PAGE_DEFAULT, limits.listPageMax)): Page {
  const { limit, after } = call.query
  return { limit: typeof limit === 'number' ? limit : usual, after: typeof after === 'string' ? after : '' }
}

/** A page of a list. @param found one entry more than the page holds, when there are more */
export function listJson<Entry>(found: readonly Entry[], limit: number) {
  return { object: 'list' as const, data: found.slice(0, limit), has_more: found.length > limit }
}
