import { invalidRequest } from '../../../control/contract/errors.ts'
import type { PromptSize } from '../../admission/holdSize.ts'

/**
 * A text that the model reads, measured.
 * @throws GatewayError 400 when it is not a string
 */
export function readText(value: unknown, field: string, size: PromptSize): string {
  if (typeof value !== 'string') throw invalidRequest(`${field} must be a string.`, field)
  size.textBytes += Buffer.byteLength(value)
  return value
}

/** UTF-8 bytes of a value as JSON; 0 for null and undefined. */
export function jsonBytes(value: unknown): number {
  return value === undefined || value === null ? 0 : Buffer.byteLength(JSON.stringify(value))
}

/** UTF-8 bytes of a string; 0 for anything else. */
export function textBytes(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}
