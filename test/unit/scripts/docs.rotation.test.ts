// Goal: the page on updates says how each secret is rotated. Method: the secret variables against the table of that page.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { secretNames } from '../../../contract/schemas/environment.ts'
import { projectRoot } from '../../../control/launch/paths.ts'

test('each secret variable has its steps', () => {
  const page = readFileSync(join(projectRoot, 'docs/operations/updates.md'), 'utf8')
  const [, section = ''] = page.split('## Rotate a secret')
  const table =
    section
      .slice(0, section.indexOf('\n## '))
      .match(/^\|.*\|$/gm)
      ?.join('\n') ?? ''
  const missing = secretNames('make run').filter((name) => !table.includes(`\`${name}\``))
  assert.deepEqual([missing, secretNames('command line').filter((name) => !table.includes(name))], [[], []])
})
