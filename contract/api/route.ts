/** A JSON Schema (2020-12) as control checks requests against it. */
export type JsonSchema = Readonly<Record<string, unknown>>

export interface ObjectSchema extends JsonSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
}

/**
 * The credential of a route. `none`: none. `open`: none, for requests that anybody may make often. `sign_in`: a session
 * whose wallet may not be linked to an account yet. `session`: a session of an account. `key`: an API key. `key_or_session`:
 * either of them. `optional`: either or none, for a read that returns more with one.
 */
export type ApiAuth = 'none' | 'open' | 'sign_in' | 'session' | 'key' | 'key_or_session' | 'optional'

/** One endpoint that control serves through the proxies. */
export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** A path; `{name}` matches one segment, or the part of it before a fixed ending. */
  readonly path: string
  readonly auth: ApiAuth
  readonly summary: string
  readonly query?: ObjectSchema
  /** Absent for routes that take no body. */
  readonly body?: ObjectSchema
  /**
   * Of a public read with the same answer for every client: proxies cache the answer and also serve it while control is
   * down.
   */
  readonly cache?: { readonly maxAgeSeconds: number }
}

/** An object that has these members and no others. */
export function members(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): ObjectSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}

const PARAMETER = /\{(\w+)\}/g
const ESCAPED_PARAMETER = /\\\{(\w+)\\\}/g

/** A pattern such as `/v1/keys/{id}/limits` as an expression with a named group for each parameter. */
export function pathExpression(pattern: string): RegExp {
  const escaped = pattern.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(ESCAPED_PARAMETER, '(?<$1>[^/]+)')}$`)
}

/** The values of a route's parameters in a decoded path; the inverse of `pathOf`. */
export function paramsReader({ path: pattern }: Pick<ApiRoute, 'path'>): (path: string) => Record<string, string> {
  if (!pattern.includes('{')) return () => ({})
  const expression = pathExpression(pattern)
  return (path) => ({ ...expression.exec(path)?.groups })
}

/** The decoded path of a route with these parameters. */
export function pathOf({ path }: Pick<ApiRoute, 'path'>, params: Readonly<Record<string, string>>): string {
  return path.replace(PARAMETER, (_, name: string) => params[name] ?? '')
}
