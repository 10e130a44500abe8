// Goal: every page is found from the first one. Method: links of docs/README.md against the files beside it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { projectRoot } from '../../../control/launch/paths.ts'
import { markdownPages } from '../../support/markdownPages.ts'

const INDEX = 'docs/README.md'

test('each page of docs/ is linked from docs/README.md', () => {
  const [pages = ''] = readFileSync(join(projectRoot, INDEX), 'utf8').split('## Index of search terms')
  const linked = new Set([...pages.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target]) => `docs/${target}`))
  const missing = markdownPages().filter(({ path }) => path.startsWith('docs/') && path !== INDEX && !linked.has(path))
  assert.deepEqual(
    missing.map(({ path }) => path),
    [],
    'give it a row in docs/README.md',
  )
})
