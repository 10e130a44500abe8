import { invalidRequest } from '../../contract/errors/errors.ts'
import { tooDeep } from '../../contract/std/jsonBody.ts'
import { stringEnd } from '../../contract/std/jsonDepth.ts'

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
 * Rejects JSON that exceeds the bounds, before any of it becomes an object. Invalid JSON is left to the parser.
 * @param bytes UTF-8
 * @throws GatewayError 400
 */
export function checkBounds(bytes: Buffer, { depthMax, membersMax, elementsMax }: JsonBounds): void {
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
      if (elements > elementsMax) throw tooMany(`${elementsMax} elements of arrays`)
      if (members > membersMax) throw tooMany(`${membersMax} members of objects`)
    }
    empty = c === OPEN_ARRAY || c === OPEN_OBJECT
    if (empty) {
      if (arrays.push(c === OPEN_ARRAY) > depthMax) throw tooDeep(depthMax)
    } else if (closes) {
      arrays.pop()
    } else if (c === QUOTE) {
      at = stringEnd(bytes, at + 1)
      if (at < 0) return
    }
  }
}

const tooMany = (what: string): Error => invalidRequest(`The body has more than ${what}; send fewer.`)
