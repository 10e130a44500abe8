// V8 of Node.js 24 and 26 mistakes an escaped name of a member in JSON for another name that begins as its escapes are spelt, if
// any JSON before had such a name at the same place: after {"a":1,"\\":2}, the name "\n" is read as "\"
// (https://github.com/nodejs/node/issues/63785). One client could garble the requests of others by it.
import { randomUUID } from 'node:crypto'

type Parse = (text: string) => unknown

const QUOTE = '"'
const BACKSLASH = 92
const COLON = 58
const SPACE = 32

/** Whether the engine has the fault. The names of the trial are in no other JSON. */
function isFaulty(parse: Parse): boolean {
  parse('{"sluice trial":[],"\\\\":0}')
  return Object.keys(parse('{"sluice trial":1,"\\n":0}') as object)[1] !== '\n'
}

/** Has JSON.parse read escaped names right in this thread, where the engine does not. Every program and task begins with it. */
export function mendJsonNames(): void {
  const native: Parse = JSON.parse
  if (!isFaulty(native)) return
  const mended = withSoundNames(native)
  // Nothing of the project uses a reviver; where a package does, the engine is left alone.
  JSON.parse = ((text: unknown, reviver?: unknown) =>
    reviver === undefined
      ? mended(String(text))
      : (native as (text: unknown, reviver: unknown) => unknown)(text, reviver)) as typeof JSON.parse
}

/**
 * A parser that has no escaped names read: each is replaced by a plain one, and comes back afterwards.
 * @param native throws SyntaxError for what is no JSON, as the parser that is returned does
 */
export function withSoundNames(native: Parse): Parse {
  return (text) => {
    if (!text.includes('\\')) return native(text)
    // Nobody can know it, so that no other name has it.
    const mark = randomUUID()
    const names: string[] = []
    const plain = withoutEscapedNames(text, (literal) => `"${mark}${names.push(native(literal) as string) - 1}"`)
    const value = native(plain)
    return names.length === 0 ? value : renamed(value, mark, names)
  }
}

/** @param replace gets the literal of a name that has escapes, and returns another */
function withoutEscapedNames(text: string, replace: (literal: string) => string): string {
  let written = ''
  let from = 0
  let slash = text.indexOf('\\')
  for (let start = text.indexOf(QUOTE); start >= 0; ) {
    if (slash < start) slash = text.indexOf('\\', start)
    const end = literalEnd(text, start)
    if (slash < 0 || end < 0) break
    if (slash < end && isName(text, end)) {
      written += text.slice(from, start) + replace(text.slice(start, end))
      from = end
    }
    start = text.indexOf(QUOTE, end)
  }
  return from === 0 ? text : written + text.slice(from)
}

/** The end of the literal of a string that begins at `start`, after its closing quote; -1 where it has none. */
function literalEnd(text: string, start: number): number {
  const first = text.indexOf(QUOTE, start + 1)
  for (let quote = first; quote >= 0; quote = text.indexOf(QUOTE, quote + 1)) {
    let slashes = 0
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote + 1
  }
  return -1
}

/** Only the name of a member has a colon after it. */
function isName(text: string, end: number): boolean {
  let at = end
  while (text.charCodeAt(at) <= SPACE) at++
  return text.charCodeAt(at) === COLON
}

/** The same value with the names that marked ones stand for. */
function renamed(value: unknown, mark: string, names: readonly string[]): unknown {
  const nameOf = (name: string): string =>
    name.startsWith(mark) ? (names[Number(name.slice(mark.length))] ?? name) : name
  // Not by recursion: nesting is bounded by whoever reads the value.
  const root = [value]
  const open: (Record<string, unknown> | unknown[])[] = [root]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const [name, inner] of Object.entries(at)) {
      if (typeof inner !== 'object' || inner === null) continue
      const own = Array.isArray(inner)
        ? inner
        : Object.fromEntries(Object.entries(inner).map(([each, item]) => [nameOf(each), item]))
      Object.defineProperty(at, name, { value: own })
      open.push(own)
    }
  }
  return root[0]
}
