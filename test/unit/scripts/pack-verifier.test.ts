import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../../control/launch/paths.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

interface Packed {
  readonly file: string
  readonly sha256: string
  readonly archiveSha256: string
}

interface PackVerifier {
  packVerifier(target: string): Packed
}

const script: PackVerifier = await import(pathToFileURL(join(projectRoot, 'scripts/pack-verifier.mjs')).href)

// A root of Debian that tests run in has no npm.
const skip = spawnSync('npm', ['--version']).status !== 0 && 'there is no npm here'

test('the package of the verifier is the same bytes each time that it is built, and runs', { skip }, (t) => {
  const dir = makeTempDir('pack')
  t.after(() => removeTempDir(dir))
  const folders = ['a', 'another'].map((name) => join(dir, name))
  for (const folder of folders) mkdirSync(folder)
  const [first, second] = folders.map((folder) => script.packVerifier(folder))
  assert.ok(first !== undefined && second !== undefined)
  assert.deepEqual(second, first)
  const [one, other] = folders.map((folder) => readFileSync(join(folder, first.file)))
  assert.ok(one !== undefined && other !== undefined && one.equals(other))

  const installed = join(dir, 'installed')
  mkdirSync(installed)
  assert.equal(spawnSync('tar', ['xzf', join(dir, 'a', first.file), '-C', installed]).status, 0)
  const receipt = join(dir, 'receipt.json')
  writeFileSync(receipt, '{}')
  const { status, stdout } = spawnSync(process.execPath, [join(installed, 'package/bin.js'), receipt], {
    encoding: 'utf8',
  })
  assert.equal(status, 1)
  assert.match(stdout, /failed +receipt|receipt +failed/)
})
