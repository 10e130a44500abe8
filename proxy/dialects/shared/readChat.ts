import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { exactObject, exactTexts } from '../../json/exactJson.ts'
import type { DialectLimits } from '../limits.ts'
import type { ChatRequest } from './chatRequest.ts'
import type { ChatSurface } from './codec.ts'

/**
 * Reads a request. Inputs of calls that have numbers with more digits than JavaScript keeps are forwarded as they were sent.
 * @param json what `body` was parsed of
 * @throws GatewayError 400 with the field at fault
 */
export function readChat(surface: ChatSurface, json: Buffer, body: JsonObject, limits: DialectLimits): ChatRequest {
  const request = surface.read(body, limits)
  const { callsIn } = surface
  if (request.prompt.rounded !== true || callsIn === undefined) return request
  const texts = exactTexts(json, (parsed) => callsIn(parsed).map(({ input }) => input))
  for (const [place, call] of callsIn(body).entries()) {
    call['input'] = exactObject(texts[place] ?? '') ?? call['input']
  }
  return surface.read(body, limits)
}
