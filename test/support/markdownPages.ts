import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../control/launch/paths.ts'
import { type FencedBlock, fencedBlocks } from './fencedBlocks.ts'

/** A page of the documentation for users. */
export interface MarkdownPage {
  /** From the project's folder. */
  readonly path: string
  readonly blocks: readonly FencedBlock[]
}

/** README.md and everything in docs/. */
export function markdownPages(): MarkdownPage[] {
  const names = readdirSync(join(projectRoot, 'docs'), { recursive: true, encoding: 'utf8' })
  const inDocs = names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name.replaceAll('\\', '/')}`)
  return ['README.md', ...inDocs.sort()].map((path) => ({ path, blocks: fencedBlocks(join(projectRoot, path), path) }))
}
