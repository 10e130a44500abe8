// The SQL in the sources: the literals of a file, and the tables that a text names. Both read as much as they need and pass
// over the rest: they know no grammar.

/** Text that may come before a regular expression: after anything else a slash divides. */
const BEFORE_PATTERN = /(?:^|[(,=:[!&|?{};+*%~^<>-]|\b(?:return|typeof|case|of|in|do|else|void|delete))\s*$/
const SLOT = '\u0001'

/** The place after a quoted text that begins at `start`. */
function endOfQuoted(source, start) {
  const quote = source[start]
  let at = start + 1
  while (at < source.length && source[at] !== quote && source[at] !== '\n') at += source[at] === '\\' ? 2 : 1
  return at + 1
}

/** The place after a regular expression that begins at `start`. */
function endOfPattern(source, start) {
  let isInClass = false
  for (let at = start + 1; at < source.length; at++) {
    const letter = source[at]
    if (letter === '\\') at++
    else if (letter === '[') isInClass = true
    else if (letter === ']') isInClass = false
    else if (letter === '\n' || (letter === '/' && !isInClass)) return at + 1
  }
  return source.length
}

/** Reads a template, whose substitutions become a sign that is in no SQL; literals within them are found on their own. */
function readTemplate(source, start, found) {
  let text = ''
  let at = start + 1
  while (at < source.length && source[at] !== '`') {
    if (source.startsWith('${', at)) {
      at = readCode(source, at + 2, found, '}')
      text += SLOT
    } else if (source[at] === '\\') {
      text += source.slice(at, at + 2)
      at += 2
    } else text += source[at++]
  }
  found.push({ text, at: start })
  return at + 1
}

/** Reads code up to `end`, which closes the substitution that it is in, and collects its literals. */
function readCode(source, start, found, end) {
  let depth = 0
  let at = start
  while (at < source.length) {
    const letter = source[at]
    if (letter === end && depth === 0) return at + 1
    if (letter === '{') depth++
    if (letter === '}') depth--
    if (letter === "'" || letter === '"') {
      const after = endOfQuoted(source, at)
      found.push({ text: source.slice(at + 1, after - 1), at })
      at = after
    } else if (letter === '`') at = readTemplate(source, at, found)
    else if (source.startsWith('//', at)) at = endOrAll(source, source.indexOf('\n', at))
    else if (source.startsWith('/*', at)) at = endOrAll(source, source.indexOf('*/', at + 2)) + 2
    else if (letter === '/' && BEFORE_PATTERN.test(source.slice(Math.max(0, at - 40), at)))
      at = endOfPattern(source, at)
    else at++
  }
  return at
}

function endOrAll(source, place) {
  return place < 0 ? source.length : place
}

/**
 * The texts and templates of a TypeScript source.
 * @param {string} source
 * @returns {{ text: string, at: number }[]} with a sign in place of each substitution
 */
export function literalsOf(source) {
  const found = []
  readCode(source, 0, found, undefined)
  return found
}
