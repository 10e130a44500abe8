import { quoted } from '../../../contract/money/quoted.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { joinedBody } from '../../dialects/shared/joinedBody.ts'
import { type Beside, extrasFor } from './beside.ts'

/** The provider request without the model's name: members of a JSON object with the closing brace. */
export type BodyRest = string | Uint8Array

export function restOf(forward: JsonObject): string {
  return JSON.stringify(forward).slice(1)
}

/** The body for one route. @param beside members that only some providers get */
export function bodyOf(route: Route, rest: BodyRest, beside: Beside): string | readonly Buffer[] {
  const extras = JSON.stringify(extrasFor(route, beside)).slice(1, -1)
  return joinedBody([`{"model":${quoted(route.upstreamModel)},${extras}${extras === '' ? '' : ','}`, rest])
}
