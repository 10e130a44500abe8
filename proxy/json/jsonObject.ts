import { nestsDeeper } from './jsonDepth.ts'

export type JsonObject = Record<string, unknown>

/** Whether a value is a JSON object, not an array and not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses JSON text that has to be an object; null for anything else. */
export function parseObject(text: string): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

/** The JSON object that a provider's answer is; null for anything else, and for one that nests deeper. */
export function parseAnswer(body: Buffer, depthMax: number): JsonObject | null {
  return nestsDeeper(body, depthMax) ? null : parseObject(body.toString('utf8'))
}
