// Words and forms that make a text hard to read or to search. In Markdown and in comments each is a mistake in nearly every
// use; `make check` refuses them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Each row: a pattern, and the wording to use in its place. */
export const WORDING = [
  [/\bat once\b/gi, '"immediately", "concurrently" or "together"'],
  [/\bcan not\b(?! only)/gi, '"cannot"'],
  [/\b(?:hears?|heard) nothing\b/gi, '"ignores" or "gets no call"'],
  [/\b(?:tells?|told) (?:of|nothing|nobody)\b/gi, '"reports", "shows" or "names"'],
  [/\b(?:is|are|was|were|be|been) told\b/gi, '"gets", "is sent" or "is informed"'],
  [/\bwhat (?:is|are|was|were) left\b/gi, '"the rest" or "the remaining ..."'],
  [/\bas far as\b/gi, '"up to", "if" or "the part that"'],
  [/\bthe time from one\b/gi, '"the interval between"'],
  [/\bfrom (?:the )?one to the (?:next|other)\b/gi, '"between" or "the interval between"'],
  [/\bin vain\b/gi, '"without success"'],
  [/\bbehind (?:midnight|that block|the end)\b/gi, '"after"'],
  [/\bha(?:s|ve|d) (?:its|their) turn\b/gi, '"runs"'],
  [/(?<=^|[.:;!?]\s+|\|\s+|[-*] )Wh(?:at|o|oever|atever)\b(?![^.:;?]*\?)/gm, 'the noun that the clause stands for'],
]

const LINE_COMMENT = { sql: '--', lua: '--' }

/** The prose of a Markdown file: blocks and spans of code and headings are blank, lines keep their numbers. */
function proseOfMarkdown(text) {
  return text
    .replace(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2[^\n]*$/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/^(?: {4}|\t|#+ ).*$/gm, '')
    .replace(/`[^`\n]*`/g, '`x`')
}

/** The comments of a source: all else is blank, lines keep their numbers. */
function commentsOf(text, ending) {
  const mark = LINE_COMMENT[ending] ?? '//'
  let isInBlock = false
  return text
    .split('\n')
    .map((line) => {
      const trimmed = line.trim()
      if (mark === '//' && !isInBlock && trimmed.startsWith('/*')) isInBlock = true
      if (isInBlock) {
        isInBlock = !trimmed.includes('*/')
        return trimmed.replace(/^\/?\*+\/?\s?|\s*\*\/.*$/g, '')
      }
      if (trimmed.startsWith(mark)) return trimmed.slice(mark.length).trim()
      const trailing = line.indexOf(` ${mark} `)
      return trailing === -1 ? '' : line.slice(trailing + mark.length + 2)
    })
    .join('\n')
}

/**
 * The faults of one text.
 * @param {string} name its path, whose ending says where prose is
 * @param {string} text
 * @returns {string[]} a line for each
 */
export function wordingFaults(name, text) {
  const ending = name.slice(name.lastIndexOf('.') + 1)
  const prose = ending === 'md' ? proseOfMarkdown(text) : commentsOf(text, ending)
  // A form may be broken over two lines of one paragraph.
  const flat = prose.replace(/(?<=[^\n])\n(?=[^\n|])/g, ' ')
  return WORDING.flatMap(([pattern, instead]) =>
    [...flat.matchAll(pattern)].map((match) => {
      const line = prose.slice(0, match.index).split('\n').length
      return `${name}:${line}: "${match[0]}": write ${instead}`
    }),
  )
}

/**
 * The faults of files.
 * @param {string} root the folder of the project
 * @param {string[]} names paths in it
 * @returns {string[]} a line for each
 */
export function wordingFaultsOf(root, names) {
  return names.flatMap((name) => wordingFaults(name, readFileSync(join(root, name), 'utf8')))
}
