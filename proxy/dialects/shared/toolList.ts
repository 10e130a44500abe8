import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven } from '../../json/fields.ts'
import type { DialectLimits } from '../limits.ts'

/**
 * The tools that a request lists; none where it has no list.
 * @param form of an entry, for the client's error
 * @throws GatewayError invalid_request for what is no list, and beyond limits.toolsMax
 */
export function toolList(tools: unknown, form: string, limits: DialectLimits, param = 'tools'): readonly unknown[] {
  if (!isGiven(tools)) return []
  if (!Array.isArray(tools)) throw invalidRequest(`${param} must be an array of ${form}.`, param)
  return boundedTools(tools, limits, param)
}

/** The same tools. @throws GatewayError invalid_request beyond limits.toolsMax */
export function boundedTools<Tool>(
  tools: readonly Tool[],
  { toolsMax }: DialectLimits,
  param = 'tools',
): readonly Tool[] {
  if (tools.length > toolsMax) throw invalidRequest(`${param} may hold at most ${toolsMax} entries.`, param)
  return tools
}

/** The member that the client's answer names, where some of the listed tools are left out; none where all are kept. */
export function toolsLeftOut(listed: number, kept: number): readonly string[] {
  return kept < listed ? ['tools'] : []
}

/** The kinds of tools that a client runs itself, which are chosen by their name. */
export const NAMED: ReadonlySet<unknown> = new Set(['function', 'custom'])

/** Whether a request chooses one of its hosted tools, which are left out: the model then has the choice among the others. */
export function choosesHosted({ tools, tool_choice: choice }: JsonObject): boolean {
  if (!isJsonObject(choice) || NAMED.has(choice['type'])) return false
  return Array.isArray(tools) && tools.some((tool) => isJsonObject(tool) && tool['type'] === choice['type'])
}
