import type { Span } from '../../contract/std/span.ts'
import { JsonCursor, LONG_STRING_BYTES } from './jsonCursor.ts'
import { type JsonBounds, JsonFault } from './jsonFault.ts'
import type { JsonObject } from './jsonObject.ts'

const COMMA = 44
const COLON = 58
const QUOTE = 34
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125
/** So many bytes make a step, which takes about a millisecond when they are small values. */
const STEP_BYTES = 16_384

/** An object or array that has begun and not ended. */
interface Open {
  readonly value: JsonObject | unknown[]
  readonly isArray: boolean
  /** Of the member whose value comes next. */
  name: string
}

/**
 * Parses JSON as JSON.parse does, in steps of about a millisecond: between two of them, whoever runs this
 * may do something else.
 * @param bytes UTF-8
 * @param longStrings gets the insides of long strings that are values, in their order
 * @returns the value
 * @throws JsonFault for what is no JSON or breaks a bound
 */
export function* jsonSteps(
  bytes: Buffer,
  bounds: JsonBounds,
  longStrings: Span[],
): Generator<undefined, unknown, undefined> {
  const cursor = new JsonCursor(bytes)
  const open: Open[] = []
  let members = 0
  let elements = 0
  let stepEnd = STEP_BYTES
  for (;;) {
    if (cursor.at >= stepEnd) {
      yield
      stepEnd = cursor.at + STEP_BYTES
    }
    const first = cursor.peek()
    let value: unknown
    if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
      const isArray = first === OPEN_ARRAY
      if (open.length >= bounds.depthMax) throw new JsonFault('deep', cursor.at)
      cursor.at++
      const began: Open = { value: isArray ? [] : {}, isArray, name: '' }
      if (cursor.peek() !== closerOf(began)) {
        open.push(began)
        if (!isArray) began.name = readName(cursor)
        continue
      }
      cursor.at++
      value = began.value
    } else if (first === QUOTE) {
      const start = cursor.at + 1
      value = cursor.shortString() ?? (yield* cursor.longString())
      const end = cursor.at - 1
      if (end - start >= LONG_STRING_BYTES) longStrings.push({ start, end })
    } else {
      value = cursor.scalar()
    }
    for (;;) {
      const parent = open.at(-1)
      if (parent === undefined) {
        cursor.expectEnd()
        return value
      }
      if (parent.isArray && ++elements > bounds.elementsMax) throw new JsonFault('elements', cursor.at)
      if (!parent.isArray && ++members > bounds.membersMax) throw new JsonFault('members', cursor.at)
      add(parent, value)
      const next = cursor.peek()
      if (next === COMMA) {
        cursor.at++
        if (!parent.isArray) parent.name = readName(cursor)
        break
      }
      if (next !== closerOf(parent)) throw cursor.unexpected()
      cursor.at++
      open.pop()
      value = parent.value
    }
  }
}

const closerOf = ({ isArray }: Open): number => (isArray ? CLOSE_ARRAY : CLOSE_OBJECT)

function readName(cursor: JsonCursor): string {
  if (cursor.peek() !== QUOTE) throw cursor.unexpected()
  const name = cursor.shortString() ?? cursor.longName()
  if (cursor.peek() !== COLON) throw cursor.unexpected()
  cursor.at++
  return name
}

function add({ value, name }: Open, added: unknown): void {
  if (Array.isArray(value)) value.push(added)
  else if (name !== '__proto__') value[name] = added
  // An assignment would set the prototype.
  else Object.defineProperty(value, name, { value: added, writable: true, enumerable: true, configurable: true })
}
