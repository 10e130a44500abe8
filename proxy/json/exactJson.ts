import { randomBytes } from 'node:crypto'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../contract/std/jsonObject.ts'
import type { Span } from '../../contract/std/span.ts'
import { CutJson } from './cutJson.ts'
import { soundStringEnd } from './soundJson.ts'

/** Numbers of JavaScript keep all digits of shorter ones. */
const DIGITS = 16
const LONG = new RegExp(`[0-9]{${DIGITS}}`)
/** It may be beyond the range of numbers. */
const HAS_EXPONENT = /e/i
const QUOTE = 34
/** It is secret, so that no text from outside can be mistaken for a mark. */
const MARK = `@@${randomBytes(16).toString('hex')}:`
const MARKS = new RegExp(`"${MARK}([0-9]+)"`, 'g')
const NUMBER = new Set(Buffer.from('0123456789+-.eE'))
const FIRST = new Set(Buffer.from('0123456789-'))

/** The texts in place of which exactJson prints marks at first; null while it does not run. */
let texts: string[] | null = null

/**
 * Parses JSON text of an object. One that has numbers with more digits than JavaScript keeps is printed by exactJson as it was.
 * @returns null for anything else
 */
export function exactObject(text: string): JsonObject | null {
  const parsed = parseJsonObject(text)
  if (parsed === null || !LONG.test(text) || Object.hasOwn(parsed, 'toJSON')) return parsed
  if (longNumbers(Buffer.from(text)).length === 0) return parsed
  return Object.defineProperty(parsed, 'toJSON', {
    value: () => (texts === null ? parsed : `${MARK}${texts.push(text) - 1}`),
  })
}

/** A value as JSON, with the objects of exactObject in it as they were. @param replacer as JSON.stringify takes it */
export function exactJson(value: unknown, replacer?: (name: string, value: unknown) => unknown): string {
  const exact: string[] = []
  texts = exact
  try {
    const json = JSON.stringify(value, replacer)
    return exact.length === 0 ? json : json.replace(MARKS, (_, place: string) => exact[Number(place)] ?? 'null')
  } finally {
    texts = null
  }
}

/** Whether a value has a number that may have lost digits when it was parsed. */
export function isRounded(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER
  return typeof value === 'object' && value !== null && Object.values(value).some(isRounded)
}

/**
 * Reads texts of objects out of JSON, as they are there.
 * @param json of an object that was parsed once
 * @param find the objects in it, whatever their long numbers are
 * @returns the text of each, undefined for what is no object
 */
export function exactTexts(json: Buffer, find: (parsed: JsonObject) => readonly unknown[]): (string | undefined)[] {
  const cut = new CutJson(json, longNumbers(json), 'values')
  const found = find(parseJsonObject(cut.text()) ?? {})
  return found.map((one) => (isJsonObject(one) ? Buffer.concat(cut.fill(JSON.stringify(one))).toString() : undefined))
}

/** The places of the numbers that are long, in their order; none for what is no JSON. */
function longNumbers(json: Buffer): Span[] {
  const spans: Span[] = []
  for (let at = 0; at < json.length; at++) {
    const first = json[at] as number
    if (first === QUOTE) {
      const end = soundStringEnd(json, at + 1, json.length)
      if (end < 0) return []
      at = end - 1
    } else if (FIRST.has(first)) {
      const start = at
      while (NUMBER.has(json[at + 1] as number)) at++
      const end = at + 1
      if (end - start >= DIGITS || HAS_EXPONENT.test(json.toString('latin1', start, end))) spans.push({ start, end })
    }
  }
  return spans
}
