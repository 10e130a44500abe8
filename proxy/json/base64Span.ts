import { isAscii } from 'node:buffer'
import type { Span } from '../../contract/std/span.ts'

const DATA = 'data:'
const COMMA = 44
const QUOTE = 34
const COLON = 58
const SLASH = 47
const BACKSLASH = 92
const HEAD_BYTES_MAX = 256
/** Of the base64 itself, by which the readers of requests tell what it is. */
const KEPT_BYTES = 256
/** The members of requests that are base64 without the head of a data URL. */
const BARE_MEMBERS = [Buffer.from('"data"'), Buffer.from('"file_data"')]
/** The letters of its other alphabet, which readers of base64 rewrite. */
const REWRITTEN = [...'-_'].map((c) => c.charCodeAt(0))
/** The least character of base64. */
const LEAST = '+'.charCodeAt(0)
const LEAST_IN_WORD = 0x2b2b2b2b
const SIGNS = 0x80808080

/**
 * The part of a JSON string that a request can be read without: base64 but for its beginning, which may be the head of a data
 * URL. It has the alphabet that every format takes, padded, and no escapes but of slashes, so that nobody rewrites it.
 * @param bytes JSON
 * @param string the inside of a string that is a value
 * @returns null where the string is anything else, or short
 */
export function base64Span(bytes: Buffer, { start, end }: Span): Span | null {
  const from = base64Start(bytes, start, end)
  if (from < 0 || end - from <= KEPT_BYTES) return null
  const characters = charactersIn(bytes.subarray(from, end))
  if (characters < 0 || characters % 4 !== 0) return null
  const cut = from + KEPT_BYTES
  return { start: bytes[cut - 1] === BACKSLASH ? cut + 1 : cut, end }
}

/** Where base64 begins in a string; -1 for a string that is none by its beginning and by its member. */
function base64Start(bytes: Buffer, start: number, end: number): number {
  if (bytes.toString('latin1', start, start + DATA.length).toLowerCase() !== DATA)
    return isBare(bytes, start) ? start : -1
  const headEnd = Math.min(end, start + HEAD_BYTES_MAX)
  for (let at = start; at < headEnd; at++) if (bytes[at] === COMMA) return at + 1
  return -1
}

function isBare(bytes: Buffer, start: number): boolean {
  let at = start - 2
  while (isSpace(bytes[at])) at--
  if (bytes[at--] !== COLON) return false
  while (isSpace(bytes[at])) at--
  if (bytes[at] !== QUOTE) return false
  return BARE_MEMBERS.some((name) => bytes.subarray(at + 1 - name.length, at + 1).equals(name))
}

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9

/** The characters that the inside of a JSON string stands for; -1 where one of them is not as it has to be. */
function charactersIn(text: Buffer): number {
  if (!isAscii(text) || REWRITTEN.some((byte) => text.includes(byte)) || hasLess(text)) return -1
  const first = text.indexOf(BACKSLASH)
  if (first < 0) return text.length
  let escapes = 0
  for (let at = first; at < text.length; at++) {
    if (text[at] !== BACKSLASH) continue
    if (text[++at] !== SLASH) return -1
    escapes++
  }
  return text.length - escapes
}

/**
 * Whether ASCII has characters that are less than all of base64: controls, which JSON strings may not have, or blanks and
 * percent signs, which readers of base64 rewrite.
 */
function hasLess(text: Buffer): boolean {
  const before = -text.byteOffset & 3
  const words = new Int32Array(text.buffer, text.byteOffset + before, Math.max(0, text.length - before) >> 2)
  const count = words.length
  let differences = 0
  let i = 0
  // A byte below the least leaves its sign bit in the difference, as does one that was borrowed from.
  for (; i + 4 <= count; i += 4) {
    differences |= difference(words, i) | difference(words, i + 1) | difference(words, i + 2) | difference(words, i + 3)
  }
  for (; i < count; i++) differences |= difference(words, i)
  return (
    (differences & SIGNS) !== 0 ||
    text.subarray(0, before).some(isLess) ||
    text.subarray(before + count * 4).some(isLess)
  )
}

function difference(words: Int32Array, i: number): number {
  return ((words[i] as number) - LEAST_IN_WORD) | 0
}

const isLess = (byte: number): boolean => byte < LEAST
