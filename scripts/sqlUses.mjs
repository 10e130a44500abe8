// The tables, views and functions that a text of SQL names, and whether it writes to them. It knows where a table can be named,
// and no other grammar. Keywords are in capitals, as in all of the project's SQL.

const TOKEN = /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\/|[A-Za-z_]\w*|[(),;]/g
const WITH_NAME = /([a-z]\w*)\s*(?:\([^()]*\)\s*)?AS\s+(?:NOT\s+)?(?:MATERIALIZED\s+)?\(/g
/** Words between a keyword and the table that it is about. */
const PASSED_OVER = new Set(['ONLY', 'LATERAL', 'TABLE', 'IF', 'EXISTS', 'NOT', 'TEMP', 'UNLOGGED'])
/** Words that end the list of tables of a FROM. */
const ENDS_LIST = new Set([
  'WHERE',
  'GROUP',
  'ORDER',
  'LIMIT',
  'SET',
  'VALUES',
  'RETURNING',
  'UNION',
  'EXCEPT',
  'HAVING',
  'SELECT',
  'IN',
])
/** A part of a statement that begins with its table, as `accounts a WHERE` or `accounts SET`. */
const BEGINS_WITH_TABLE = /^\s*([a-z]\w*)\s+(?:(?:AS\s+)?[a-z]\w*\s+)?(WHERE|JOIN|LEFT|CROSS|SET)\b/

/** A sequence is named in a text. */
const SEQUENCE = /\b(?:nextval|setval)\('(\w+)'/g

/** How the table after a keyword is used; undefined where no table follows. */
function useAfter(words, at) {
  const before = words[at - 1]
  switch (words[at]) {
    case 'FROM':
      return before === 'DELETE' ? 'write' : before === 'DISTINCT' ? undefined : 'read'
    case 'JOIN':
      return 'read'
    case 'USING':
      return words[at + 1] === '(' ? undefined : 'read'
    case 'INTO':
    case 'COPY':
    case 'TRUNCATE':
    case 'LOCK':
      return 'write'
    case 'UPDATE':
      return before === 'FOR' || before === 'KEY' || before === 'DO' ? undefined : 'write'
    case 'TABLE':
      return before === undefined || /^[A-Z]+$/.test(before) ? 'write' : undefined
    default:
      return undefined
  }
}

/** Uses of tables at the places of a statement where tables are named. */
function tableUses(words) {
  const uses = []
  /** For each open parenthesis, how tables after a comma are used. */
  const lists = [undefined]
  let use
  for (let at = 0; at < words.length; at++) {
    const word = words[at]
    const begun = useAfter(words, at)
    if (begun !== undefined) {
      use = word === 'TABLE' && use !== undefined ? use : begun
      if (word !== 'JOIN') lists[lists.length - 1] = use
    } else if (word === '(') {
      // A comma in here separates tables only where a table could be named in place of the parenthesis.
      lists.push(use)
    } else if (word === ')') {
      lists.pop()
      if (lists.length === 0) lists.push(undefined)
      use = undefined
    } else if (word === ',') use = lists[lists.length - 1]
    else if (ENDS_LIST.has(word) || word === ';') {
      lists[lists.length - 1] = undefined
      use = undefined
    } else if (!PASSED_OVER.has(word)) {
      if (use !== undefined) uses.push({ name: word, use })
      use = undefined
    }
  }
  return uses
}

/**
 * @param {string} text a statement, or a part of one, or any other text
 * @returns {{ name: string, use: 'read' | 'write' | 'call' }[]} names where SQL has those of tables and functions: tables of the
 *   database, but also some others
 */
export function usesIn(text) {
  const begun = BEGINS_WITH_TABLE.exec(text)
  const first = begun === null ? [] : [{ name: begun[1], use: begun[2] === 'SET' ? 'write' : 'read' }]
  if (!/\b[A-Z]{2,}\b/.test(text)) return first
  const words = text.match(TOKEN)?.filter((word) => !/^(?:'|--|\/\*)/.test(word)) ?? []
  const own = new Set([...text.matchAll(WITH_NAME)].map((match) => match[1]))
  const tables = tableUses(words)
  const named = new Set(tables.map(({ name }) => name))
  const calls = words.filter((word, at) => words[at + 1] === '(' && !named.has(word))
  const sequences = [...text.matchAll(SEQUENCE)].map((match) => match[1])
  return [
    ...first,
    ...tables,
    ...calls.map((name) => ({ name, use: 'call' })),
    ...sequences.map((name) => ({ name, use: 'write' })),
  ].filter(({ name }) => !own.has(name))
}
