import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { compileSchema } from '../../../contract/tools/inputSchema.ts'
import { MCP_TOOLS } from './toolList.ts'

const CHECKS = new Map(MCP_TOOLS.map(({ name, inputSchema }) => [name, compileSchema(inputSchema)]))

/**
 * Checks the arguments of a call by the schema that `tools/list` shows. A member that is null is absent, as in the HTTP
 * requests that the tools map to.
 * @throws GatewayError invalid_request
 */
export function checkToolInput(tool: string, input: JsonObject): void {
  const present = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
  const fault = CHECKS.get(tool)?.(present)
  if (fault === undefined || fault === null) return
  const { param, reason } = fault
  throw invalidRequest(`${param === '' ? 'The input' : param} ${reason}; see the inputSchema of ${tool}.`, param)
}
