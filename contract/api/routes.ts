import { CONTRACT_LIMITS, type ContractLimits } from '../limits/limits.ts'
import { accountRoutes } from './accountRoutes.ts'
import { agentRoutes } from './agentRoutes.ts'
import { BATCH_ROUTES } from './batchRoutes.ts'
import { keyRoutes } from './keyRoutes.ts'
import { linkRoutes } from './linkRoutes.ts'
import { moneyRoutes } from './moneyRoutes.ts'
import { platformRoutes } from './platformRoutes.ts'
import { providerRoutes } from './providerRoutes.ts'
import { referralRoutes } from './referralRoutes.ts'
import { type ApiRoute, pathExpression } from './route.ts'
import { SIGN_IN_ROUTES } from './signInRoutes.ts'

const tableOf = (limits: ContractLimits) => ({
  ...SIGN_IN_ROUTES,
  ...accountRoutes(limits),
  ...keyRoutes(limits),
  ...linkRoutes(limits),
  ...agentRoutes(limits),
  ...platformRoutes(limits),
  ...BATCH_ROUTES,
  ...referralRoutes(limits),
  ...providerRoutes(limits),
  ...moneyRoutes(limits),
})

export type ApiOperation = keyof ReturnType<typeof tableOf>
export type ApiRoutes = Readonly<Record<ApiOperation, ApiRoute>>

/** Every endpoint that control serves through the proxies, with the schemas that its requests are checked against. */
export const apiRoutes: (limits: ContractLimits) => ApiRoutes = tableOf

/** The same under the default limits, for what no limit changes: methods, paths, credentials, names of fields. */
export const API_ROUTES: ApiRoutes = apiRoutes(CONTRACT_LIMITS)

export interface ApiMatch {
  readonly operation: ApiOperation
  readonly route: ApiRoute
  /** The parts of the path that the pattern names. */
  readonly params: Readonly<Record<string, string>>
}

// Patterns without parameters first, so that `/v1/things/new` is not taken for a thing.
const PATTERNS = (Object.entries(API_ROUTES) as [ApiOperation, ApiRoute][])
  .map(([operation, route]) => ({ operation, route, expression: pathExpression(route.path) }))
  .sort((a, b) => Number(a.route.path.includes('{')) - Number(b.route.path.includes('{')))

/** The endpoint of a method and a decoded path, or undefined. */
export function matchApi(method: string, path: string): ApiMatch | undefined {
  for (const { operation, route, expression } of PATTERNS) {
    const found = route.method === method ? expression.exec(path) : null
    if (found !== null) return { operation, route, params: { ...found.groups } }
  }
  return undefined
}
