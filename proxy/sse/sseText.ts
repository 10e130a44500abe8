import { isUtf8 } from 'node:buffer'
import type { OutBuffer } from './outBuffer.ts'

const LF = 10
const SPACE = 32
const COMMENT = Buffer.from(':')
const COMMENT_END = Buffer.from('\n\n')
const RECEIPT = Buffer.from('receipt')

/** Appends a provider's comment line, but for one that looks like a receipt: those are the gateway's own. */
export function appendComment(out: OutBuffer, bytes: Buffer, start: number, end: number): void {
  const from = bytes[start] === SPACE ? start + 1 : start
  if (end - from >= RECEIPT.length && bytes.compare(RECEIPT, 0, RECEIPT.length, from, from + RECEIPT.length) === 0)
    return
  out.appendAll(COMMENT)
  out.append(bytes, start, end)
  out.appendAll(COMMENT_END)
}

/**
 * Joins several lines of data to one, in place. In JSON a line end can only be between tokens, where a space is equivalent;
 * in an event it would end the line.
 */
export function joinLines(bytes: Buffer, start: number, end: number): void {
  for (let at = start; at < end; at++) if (bytes[at] === LF) bytes[at] = SPACE
}

/**
 * Whole events in UTF-8: bytes that are none become U+FFFD, as in a reader of event streams. Clients that decode strictly would
 * lose the rest of the stream.
 */
export function inUtf8(bytes: Buffer): Buffer {
  return isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('utf8'))
}

/** Parses JSON bytes; null when they are invalid. */
export function parseBytes(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end))
  } catch {
    return null
  }
}
