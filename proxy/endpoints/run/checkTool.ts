import { GatewayError } from '../../../control/contract/errors.ts'
import type { Principal } from '../../access/principal.ts'

/** Whether a key may use a priced tool. @throws GatewayError tool_not_allowed */
export function checkTool(principal: Pick<Principal, 'tools'>, toolId: string): void {
  if (principal.tools === null || principal.tools.has(toolId)) return
  throw new GatewayError('tool_not_allowed')
}
