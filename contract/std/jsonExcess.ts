import { stringEnd } from './jsonDepth.ts'

const QUOTE = 34
const COMMA = 44
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** The bounds of JSON: nesting and numbers of members and elements. */
export interface JsonBounds {
  readonly depthMax: number
  /** Members of all objects together. */
  readonly membersMax: number
  /** Elements of all arrays together. */
  readonly elementsMax: number
}

/**
 * The bound that JSON exceeds first; null for none, and for JSON that is invalid before. Ends where a bound is exceeded.
 * @param bytes UTF-8
 */
export function excessOf(
  bytes: Buffer,
  { depthMax, membersMax, elementsMax }: JsonBounds,
): 'depth' | 'members' | 'elements' | null {
  /** Of each array or object that is open, whether it is an array; a value makes it hold something. */
  const arrays: boolean[] = []
  let members = 0
  let elements = 0
  let empty = false
  for (let at = 0; at < bytes.length; at++) {
    const c = bytes[at] ?? 0
    if (c <= 32) continue
    const closes = c === CLOSE_ARRAY || c === CLOSE_OBJECT
    if (c === COMMA || (empty && !closes)) {
      if (arrays.at(-1) === true) elements++
      else members++
      if (elements > elementsMax) return 'elements'
      if (members > membersMax) return 'members'
    }
    empty = c === OPEN_ARRAY || c === OPEN_OBJECT
    if (empty) {
      if (arrays.push(c === OPEN_ARRAY) > depthMax) return 'depth'
    } else if (closes) {
      arrays.pop()
    } else if (c === QUOTE) {
      at = stringEnd(bytes, at + 1)
      if (at < 0) return null
    }
  }
  return null
}
