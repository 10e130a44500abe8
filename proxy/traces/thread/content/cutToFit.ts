import type { Part } from './messageParts.ts'
import type { OutputMessage } from './outputMessages.ts'

/** The brackets around a list. */
const BRACKETS = 2
const COMMA = 1

/** Messages as JSON; where that is longer than `bytesMax`, the text that goes beyond it is cut, and what follows left out. */
export function cutToFit(messages: readonly OutputMessage[], bytesMax: number): { text: string; isCut: boolean } {
  const whole = JSON.stringify(messages)
  if (Buffer.byteLength(whole) <= bytesMax) return { text: whole, isCut: false }
  const kept: OutputMessage[] = []
  let left = bytesMax - BRACKETS
  for (const message of messages) {
    left -= jsonBytes({ ...message, parts: [] }) + COMMA
    if (left < 0) break
    const parts = partsWithin(message.parts, left)
    kept.push({ ...message, parts })
    if (parts.length < message.parts.length) break
    left -= jsonBytes(parts) - BRACKETS
  }
  return { text: kept.length === 0 ? '' : JSON.stringify(kept), isCut: true }
}

/** The first parts of a message, of which the last may be cut. */
function partsWithin(parts: readonly Part[], bytesMax: number): Part[] {
  const kept: Part[] = []
  let left = bytesMax
  for (const part of parts) {
    const bytes = jsonBytes(part) + COMMA
    if (bytes > left) {
      const { content } = part
      const cut =
        typeof content === 'string' ? cutText(content, left - COMMA - jsonBytes({ ...part, content: '' })) : ''
      if (cut !== '') kept.push({ ...part, content: cut })
      break
    }
    kept.push(part)
    left -= bytes
  }
  return kept
}

/** The longest beginning of a text that takes so many bytes in a string of JSON. */
function cutText(text: string, bytesMax: number): string {
  let [fits, tooLong] = [0, Math.min(text.length, Math.max(0, bytesMax)) + 1]
  while (tooLong - fits > 1) {
    const length = (fits + tooLong) >> 1
    if (jsonBytes(text.slice(0, length)) - BRACKETS <= bytesMax) fits = length
    else tooLong = length
  }
  return text.slice(0, fits)
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
