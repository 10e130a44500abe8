import { readJsonBody } from '../../contract/std/jsonBody.ts'
import type { JsonObject } from '../../contract/std/jsonObject.ts'
import type { Span } from '../../contract/std/span.ts'
import { takeParsed } from './parseInSteps.ts'

/**
 * A request body that has to be a JSON object, parsed now unless `BodyParser` has parsed it before.
 * @param longStrings gets the insides of long strings that are values, in their order
 * @throws GatewayError 400; see `readJsonBody`
 */
export function parseJsonObject(body: Buffer, depthMax: number, longStrings?: Span[]): JsonObject {
  const ready = takeParsed(body)
  if (ready === undefined) return readJsonBody(body, depthMax, longStrings)
  longStrings?.push(...ready.longStrings)
  return ready.value
}
