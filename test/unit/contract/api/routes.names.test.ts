// Goal: no operation takes the place of another one of the same name when the tables are put together.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { API_ROUTES } from '../../../../contract/api/routes.ts'
import { projectRoot } from '../../../../control/launch/paths.ts'

test('every operation of every table is served', () => {
  const folder = join(projectRoot, 'contract/api')
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'))
  const named = files.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    return [...text.matchAll(/^ +(\w+): \{\n +method: '/gm)].map(([, name = '']) => name)
  })
  assert.deepEqual(named.sort(), Object.keys(API_ROUTES).sort())
})
