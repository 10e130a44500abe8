import { readLimits } from './limits.ts'
import { type RouteParts, routes } from './routes.ts'

/** Stands for any part of a process: whatever is read of it or called is such a part again. */
function anything(): unknown {
  const part: unknown = new Proxy(() => undefined, {
    get: (_target, name) => (typeof name === 'symbol' ? undefined : part),
    apply: () => part,
    construct: () => part as object,
  })
  return part
}

/**
 * Every row of the proxy's table of routes, as `POST /v1/chat/completions`, for the documents that are written of them. Only
 * the table is made, nothing runs.
 */
export function servedRoutes(): string[] {
  const parts = { ...(anything() as object), limits: readLimits(undefined), trustedProxies: 0 }
  const all = new Proxy(parts, { get: (own, name) => Reflect.get(own, name) ?? anything() }) as unknown as RouteParts
  return routes(all).map(({ method, path }) => `${method} ${path}`)
}
