import { CONTRACT_LIMITS, type ContractLimits } from '../limits/limits.ts'
import { accountRoutes } from './accountRoutes.ts'
import { agentRoutes } from './agentRoutes.ts'
import { BATCH_ROUTES } from './batchRoutes.ts'
import { catalogRoutes } from './catalogRoutes.ts'
import { chainRoutes } from './chainRoutes.ts'
import { figureRoutes } from './figureRoutes.ts'
import { holderRoutes } from './holderRoutes.ts'
import { keyRoutes } from './keyRoutes.ts'
import { linkRoutes } from './linkRoutes.ts'
import { lockRoutes } from './lockRoutes.ts'
import { logRoutes } from './logRoutes.ts'
import { moneyRoutes } from './moneyRoutes.ts'
import { platformRoutes } from './platformRoutes.ts'
import { PRIVACY_ROUTES } from './privacyRoutes.ts'
import { providerRoutes } from './providerRoutes.ts'
import { referralRoutes } from './referralRoutes.ts'
import type { ApiRoute } from './route.ts'
import { SIGN_IN_ROUTES } from './signInRoutes.ts'

const tableOf = (limits: ContractLimits) => ({
  ...SIGN_IN_ROUTES,
  ...accountRoutes(limits),
  ...keyRoutes(limits),
  ...linkRoutes(limits),
  ...lockRoutes(limits),
  ...agentRoutes(limits),
  ...platformRoutes(limits),
  ...BATCH_ROUTES,
  ...referralRoutes(limits),
  ...providerRoutes(limits),
  ...moneyRoutes(limits),
  ...logRoutes(limits),
  ...catalogRoutes(limits),
  ...PRIVACY_ROUTES,
  ...figureRoutes(limits),
  ...chainRoutes(limits),
  ...holderRoutes(limits),
})

export type ApiOperation = keyof ReturnType<typeof tableOf>
export type ApiRoutes = Readonly<Record<ApiOperation, ApiRoute>>

/** Every endpoint that control serves through the proxies, with the schemas that its requests are checked against. */
export const apiRoutes: (limits: ContractLimits) => ApiRoutes = tableOf

/**
 * The routes under the default limits, for uses that do not depend on limits: methods, paths, credentials, names of fields.
 */
export const API_ROUTES: ApiRoutes = apiRoutes(CONTRACT_LIMITS)

/** Whether `name` is a known operation; names that arrive over Redis are checked with it. */
export function isApiOperation(name: string): name is ApiOperation {
  return Object.hasOwn(API_ROUTES, name)
}
