import { ACCOUNT_ROUTES } from './accountRoutes.ts'
import { AGENT_ROUTES } from './agentRoutes.ts'
import { BATCH_ROUTES } from './batchRoutes.ts'
import { KEY_ROUTES } from './keyRoutes.ts'
import { LINK_ROUTES } from './linkRoutes.ts'
import { MONEY_ROUTES } from './moneyRoutes.ts'
import { PLATFORM_ROUTES } from './platformRoutes.ts'
import { PROVIDER_ROUTES } from './providerRoutes.ts'
import { REFERRAL_ROUTES } from './referralRoutes.ts'
import { type ApiRoute, pathExpression } from './route.ts'
import { SIGN_IN_ROUTES } from './signInRoutes.ts'

const TABLE = {
  ...SIGN_IN_ROUTES,
  ...ACCOUNT_ROUTES,
  ...KEY_ROUTES,
  ...LINK_ROUTES,
  ...AGENT_ROUTES,
  ...PLATFORM_ROUTES,
  ...BATCH_ROUTES,
  ...REFERRAL_ROUTES,
  ...PROVIDER_ROUTES,
  ...MONEY_ROUTES,
} as const

export type ApiOperation = keyof typeof TABLE

/** Every endpoint that control serves through the proxies, which know them from here as well. */
export const API_ROUTES: Readonly<Record<ApiOperation, ApiRoute>> = TABLE

export interface ApiMatch {
  readonly operation: ApiOperation
  readonly route: ApiRoute
  /** The parts of the path that the pattern names. */
  readonly params: Readonly<Record<string, string>>
}

// Patterns without parameters first, so that `/v1/things/new` is not taken for a thing.
const PATTERNS = (Object.entries(TABLE) as [ApiOperation, ApiRoute][])
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
