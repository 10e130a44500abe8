import { nestsDeeper } from '../../contract/std/jsonDepth.ts'
import { type JsonObject, parseJsonObject } from '../../contract/std/jsonObject.ts'

/** The JSON object that a provider's answer is; null for anything else, and for one that nests deeper. */
export function parseAnswer(body: Buffer, depthMax: number): JsonObject | null {
  return nestsDeeper(body, depthMax) ? null : parseJsonObject(body.toString('utf8'))
}
