// Goal: links that lead nowhere are found, with their line, and those in code are left alone.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const links = (await import(new URL('../../../../scripts/docs/links.mjs', import.meta.url).href)) as {
  anchorsOf(text: string): Set<string>
  brokenLinks(root: string, files: readonly string[]): string[]
}

test('a link leads to a file, and its anchor to a heading', (t) => {
  const root = makeTempDir('links')
  t.after(() => removeTempDir(root))
  mkdirSync(join(root, 'docs'))
  writeFileSync(join(root, 'docs/b.md'), '# One `two`: three\n\n## Twice\n\n## Twice\n\n```sh\n# no heading\n```\n')
  const lines = [
    '[b](docs/b.md) [one](docs/b.md#one-two-three) [twice](docs/b.md#twice-1) [here](#top) [far](https://example.com/x)',
    '# Top',
    '[gone](docs/c.md) `[code](nowhere.md)`',
    '[no](docs/b.md#no-heading)',
    '```',
    '[block](nowhere.md)',
    '```',
    '[twice](docs/b.md#twice-2)',
  ]
  writeFileSync(join(root, 'a.md'), lines.join('\n'))
  assert.deepEqual(links.brokenLinks(root, ['a.md', 'docs/b.md']), [
    'a.md:3: docs/c.md leads to no file',
    'a.md:4: docs/b.md#no-heading leads to no heading of docs/b.md',
    'a.md:8: docs/b.md#twice-2 leads to no heading of docs/b.md',
  ])
})
