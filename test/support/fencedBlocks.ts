import { readFileSync } from 'node:fs'

/** A block of code of a Markdown page. */
export interface FencedBlock {
  /** The page and the line of the first backticks, as `docs/guides/tools.md:8`. */
  readonly place: string
  readonly language: string
  /** Whether it is an example that is run. */
  readonly runs: boolean
  /** The file that it is written to. */
  readonly file: string | undefined
  readonly text: string
}

const FENCE = /^( *)(`{3,})([^\n`]*)\n([\s\S]*?)^\1\2`* *$/gm

/** The blocks of a page in their order. CONTRIBUTING.md says what the words after the backticks mean. */
export function fencedBlocks(path: string, name: string): FencedBlock[] {
  const page = readFileSync(path, 'utf8')
  return [...page.matchAll(FENCE)].map((match) => {
    const [, indent = '', , info = '', text = ''] = match
    const [language = '', ...words] = info.trim().split(/\s+/)
    const line = page.slice(0, match.index).split('\n').length
    return {
      place: `${name}:${line}`,
      language,
      runs: words.includes('run'),
      file: words.find((word) => word.startsWith('file='))?.slice('file='.length),
      text: indent === '' ? text : text.replaceAll(`\n${indent}`, '\n').slice(indent.length),
    }
  })
}
