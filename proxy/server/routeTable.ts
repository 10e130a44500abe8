import { pathExpression } from '../../contract/api/route.ts'
import type { ErrorCode } from '../../contract/errors/errors.ts'
import type { Handler, Precheck } from './exchange.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface RouteEntry {
  readonly method: Method
  /** A path; `{name}` in it matches one segment, and one ending in `/*` matches everything below it. */
  readonly path: string
  readonly handler: Handler
  /** Asked before a body of more than limits.uncheckedBodyBytesMax is taken; without one, all senders are strangers. */
  readonly precheck?: Precheck
  /** The body is an upload: it may be larger, and its memory stays reserved until its request has ended. */
  readonly upload?: boolean
  /** The handler itself reports two credentials of different kinds; otherwise they are payment_conflict. */
  readonly comparesCredentials?: boolean
  /** The answer of a draining process; gateway_restarting when absent. */
  readonly drainCode?: ErrorCode
}

type ByMethod = Map<string, RouteEntry>

/** Finds routes by exact path first, then by pattern, then by the longest prefix. HEAD is served wherever GET is. */
export class RouteTable {
  private readonly exact = new Map<string, ByMethod>()
  private readonly patterns: { readonly path: string; readonly expression: RegExp; readonly byMethod: ByMethod }[] = []
  private readonly prefixes: { readonly prefix: string; readonly byMethod: ByMethod }[] = []

  constructor(entries: readonly RouteEntry[]) {
    for (const entry of entries) this.add(entry)
    this.prefixes.sort((a, b) => b.prefix.length - a.prefix.length)
  }

  /** The routes of a path by method, or undefined when no route has this path. */
  find(path: string): ByMethod | undefined {
    const exact = this.exact.get(path)
    if (exact !== undefined) return exact
    for (const { expression, byMethod } of this.patterns) if (expression.test(path)) return byMethod
    for (const { prefix, byMethod } of this.prefixes) {
      if (path.length > prefix.length && path.startsWith(prefix)) return byMethod
    }
    return undefined
  }

  private add(entry: RouteEntry): void {
    const byMethod = this.methodsOf(entry.path)
    byMethod.set(entry.method, entry)
    if (entry.method === 'GET') byMethod.set('HEAD', entry)
  }

  private methodsOf(path: string): ByMethod {
    if (path.includes('{')) {
      const found = this.patterns.find((candidate) => candidate.path === path)
      if (found !== undefined) return found.byMethod
      const added = { path, expression: pathExpression(path), byMethod: new Map<string, RouteEntry>() }
      this.patterns.push(added)
      return added.byMethod
    }
    if (path.endsWith('/*')) {
      const prefix = path.slice(0, -1)
      const found = this.prefixes.find((candidate) => candidate.prefix === prefix)
      if (found !== undefined) return found.byMethod
      const added = { prefix, byMethod: new Map<string, RouteEntry>() }
      this.prefixes.push(added)
      return added.byMethod
    }
    let byMethod = this.exact.get(path)
    if (byMethod === undefined) {
      byMethod = new Map()
      this.exact.set(path, byMethod)
    }
    return byMethod
  }
}

/** The value of an Allow header for these methods. */
export function allowHeader(byMethod: ByMethod): string {
  return [...byMethod.keys(), 'OPTIONS'].join(', ')
}
