import { invalidRequest } from '../../../contract/errors/errors.ts'
import { canonicalJson } from '../../../contract/payments/canonicalJson.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'

/**
 * The chat request of a call of the tool `chat`, as a body: its arguments in canonical form, so that a client that
 * serializes them again pays for the same call. @throws GatewayError 400
 */
export function chatBody(input: JsonObject): string {
  if (input['stream'] === true) throw invalidRequest('stream is not served over MCP; leave it out.', 'stream')
  const { stream_options: _unused, ...rest } = input
  return canonicalJson(rest)
}
