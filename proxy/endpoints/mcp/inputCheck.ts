import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { compileSchema } from '../../../contract/tools/inputSchema.ts'
import { MCP_TOOLS } from './toolList.ts'

type Check = ReturnType<typeof compileSchema>

/** The checks of the tools that were called, each compiled once: most processes are never called by this protocol. */
const checks = new Map<string, Check>()

function checkOf(tool: string): Check | undefined {
  const known = checks.get(tool)
  if (known !== undefined) return known
  const schema = MCP_TOOLS.find(({ name }) => name === tool)?.inputSchema
  if (schema === undefined) return undefined
  const check = compileSchema(schema)
  checks.set(tool, check)
  return check
}

/**
 * Checks the arguments of a call by the schema that `tools/list` shows. A member that is null is absent, as in the HTTP
 * requests that the tools map to.
 * @throws GatewayError invalid_request
 */
export function checkToolInput(tool: string, input: JsonObject): void {
  const present = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
  const fault = checkOf(tool)?.(present)
  if (fault === undefined || fault === null) return
  const { param, reason } = fault
  throw invalidRequest(`${param === '' ? 'The input' : param} ${reason}; see the inputSchema of ${tool}.`, param)
}
