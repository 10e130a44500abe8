import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject } from '../../../contract/std/jsonObject.ts'
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

/**
 * The id of a call, measured; some clients keep it as a number.
 * @throws GatewayError 400 for anything else
 */
export function readCallId(value: unknown, field: string, size: PromptSize): string {
  const id = callIdText(value)
  if (id !== value) size.rewritten = true
  return readText(id, field, size)
}

/** The digits of the id of a call that is a number; anything else as it is. */
export function callIdText(id: unknown): unknown {
  return typeof id === 'number' ? String(id) : id
}

/** A value that the model reads as a text, measured: the text itself, or the JSON of anything else. */
export function jsonAsText(value: unknown, size: PromptSize): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text !== value) size.rewritten = true
  size.textBytes += Buffer.byteLength(text)
  return text
}

/** Whether a list is one of parts; tools also answer with lists of anything else. */
export function areParts(list: readonly unknown[]): boolean {
  return list.every((part) => isJsonObject(part) && typeof part['type'] === 'string')
}

/** A text, or the texts in an array of blocks; '' for anything else. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const texts = content.filter(isJsonObject).map(({ text }) => text)
  return texts.filter((text) => typeof text === 'string').join('\n')
}
