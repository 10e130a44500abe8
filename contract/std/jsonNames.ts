// V8 of Node.js 24 and 26 mistakes an escaped name of a member in JSON for another name that begins as its escapes are spelt, if
// any JSON before had such a name at the same place: after {"a":1,"\\":2}, the name "\n" is read as "\"
// (https://github.com/nodejs/node/issues/63785). One client could garble the requests of others by it.
import { randomUUID } from 'node:crypto'

type Parse = (text: string) => unknown

const QUOTE = 34
const BACKSLASH = 92
const COLON = 58
const SPACE = 32
/** A backslash, and what it escapes. */
const ESCAPE_LENGTH = 2
const NEAR = 256

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
    if (!text.includes('\\') || !mayHaveEscapedNames(text)) return native(text)
    // Nobody can know it, so that no other name has it.
    const mark = randomUUID()
    const names: string[] = []
    const plain = withoutEscapedNames(text, (literal) => `"${mark}${names.push(native(literal) as string) - 1}"`)
    const value = native(plain)
    return names.length === 0 ? value : renamed(value, mark, names)
  }
}

/** Looks at what is before each colon alone, which is faster than to read all strings; what it finds may be within a text. */
function mayHaveEscapedNames(text: string): boolean {
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    let at = colon - 1
    while (text.charCodeAt(at) <= SPACE) at--
    if (text.charCodeAt(at) !== QUOTE) continue
    const quote = at--
    while (text.charCodeAt(at) === BACKSLASH) at--
    const slashes = quote - 1 - at
    // An odd number escapes the quote, which is within a text then.
    if (slashes % 2 === 1) continue
    if (slashes > 0) return true
    while (at >= 0 && text.charCodeAt(at) !== QUOTE && text.charCodeAt(at) !== BACKSLASH) at--
    if (text.charCodeAt(at) === BACKSLASH || text.charCodeAt(at - 1) === BACKSLASH) return true
  }
  return false
}

/** @param replace gets the literal of a name that has escapes, and returns another */
function withoutEscapedNames(text: string, replace: (literal: string) => string): string {
  let written = ''
  let from = 0
  let slash = text.indexOf('\\')
  for (let start = text.indexOf('"'); start >= 0; ) {
    if (slash < start) slash = text.indexOf('\\', start)
    if (slash < 0) break
    const end = literalEnd(text, start, slash)
    if (end < 0) break
    if (slash < end && isName(text, end)) {
      written += text.slice(from, start) + replace(text.slice(start, end))
      from = end
    }
    start = text.indexOf('"', end)
  }
  return from === 0 ? text : written + text.slice(from)
}

/**
 * The end of the literal of a string that begins at `start`, after its closing quote; -1 where it has none.
 * @param slash the next backslash
 */
function literalEnd(text: string, start: number, slash: number): number {
  let quote = text.indexOf('"', start + 1)
  for (let next = slash; ; ) {
    if (quote < next || next < 0) return quote < 0 ? -1 : quote + 1
    // Where escapes are close to each other, a loop is faster than searches.
    let at = next + ESCAPE_LENGTH
    for (const near = at + NEAR; at < near; at++) {
      const c = text.charCodeAt(at)
      if (c === QUOTE) return at + 1
      if (c === BACKSLASH) at++
    }
    quote = text.indexOf('"', at)
    next = text.indexOf('\\', at)
  }
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
