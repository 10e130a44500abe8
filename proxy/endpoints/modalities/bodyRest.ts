import { quoted } from '../../../contract/money/quoted.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { joinedBody } from '../../dialects/shared/joinedBody.ts'

/** The provider request without the model's name: members of a JSON object with the closing brace. */
export type BodyRest = string | Uint8Array

export function restOf(forward: JsonObject): string {
  return JSON.stringify(forward).slice(1)
}

/** The body for one route. */
export function bodyOf({ upstreamModel }: Route, rest: BodyRest): string | readonly Buffer[] {
  return joinedBody([`{"model":${quoted(upstreamModel)},`, rest])
}
