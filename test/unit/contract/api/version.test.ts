// Goal: the version that is told is that of the package.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { GATEWAY_VERSION } from '../../../../contract/api/version.ts'
import { projectRoot } from '../../../../control/launch/paths.ts'

test('the version is that of package.json', () => {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'))
  assert.equal(version, GATEWAY_VERSION)
})
