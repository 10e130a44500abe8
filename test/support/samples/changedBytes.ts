import { present } from '../present.ts'
import type { Random } from './randomCatalogs.ts'

/** A value of a JSON text that is no object and no list, by the offsets of its bytes. */
export interface JsonValue {
  /** The names that lead to it; places in lists are left out. */
  readonly path: string
  readonly start: number
  readonly end: number
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** The values of a JSON text, in their order. */
export function jsonValues(bytes: Buffer): JsonValue[] {
  // A character of latin1 is a byte.
  const text = bytes.toString('latin1')
  const values: JsonValue[] = []
  const open: { readonly isObject: boolean; name: string }[] = []
  let isName = false
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push({ isObject: token === '{', name: '' })
    else if (token === '}' || token === ']') open.pop()
    else if (isName) present(open.at(-1)).name = token.slice(1, -1)
    else if (token !== ',' && token !== ':') {
      const path = open.flatMap(({ isObject, name }) => (isObject ? [name] : [])).join('.')
      values.push({ path, start: index, end: index + token.length })
    }
    isName = token === '{' || (token === ',' && open.at(-1)?.isObject === true)
  }
  return values
}

/** The text with one byte of a value changed into another one. */
export function withOtherByte(bytes: Buffer, { start, end }: JsonValue, random: Random): Buffer {
  const changed = Buffer.from(bytes)
  const at = start + Math.floor(random() * (end - start))
  changed[at] = (present(bytes[at]) + 1 + Math.floor(random() * 255)) % 256
  return changed
}
