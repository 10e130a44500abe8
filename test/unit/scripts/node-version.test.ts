import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { VERSION } from 'openai/version'
import { projectRoot } from '../../../control/launch/paths.ts'

interface NodeVersion {
  refusalOf(version: string, dependency: string): string | undefined
}

const script = join(projectRoot, 'scripts/node-version.mjs')
const { refusalOf }: NodeVersion = await import(pathToFileURL(script).href)
const NPM_PACKAGE = 'npm:@uwsjs/core@20.51.4'
const OFFICIAL = 'uNetworking/uWebSockets.js#v20.52.0'

test('only supported versions of Node.js are accepted', () => {
  for (const version of ['20.15.0', '20.19.5', '22.4.1']) assert.equal(refusalOf(version, NPM_PACKAGE), undefined)
  for (const version of ['18.20.0', '20.14.0']) {
    for (const dependency of [NPM_PACKAGE, OFFICIAL])
      assert.match(refusalOf(version, dependency) ?? '', /20\.15 or newer/)
  }
  for (const version of ['21.0.0', '23.1.0', '24.0.0']) {
    assert.match(
      refusalOf(version, NPM_PACKAGE) ?? '',
      /^Node\.js 20 or 22 is needed, .* section "Newer Node\.js" of docs\/operations\/deploy\.md/,
    )
    assert.equal(refusalOf(version, OFFICIAL), undefined)
  }
})

test('package.json has the same range, and this Node.js is accepted', () => {
  const { engines, dependencies } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'))
  assert.equal(engines.node, '>=20.15 <23')
  assert.equal(refusalOf(process.versions.node, dependencies['uWebSockets.js']), undefined)
  assert.equal(spawnSync(process.execPath, [script]).status, 0)
})

test('the tests under Node 22 have the same HTTP server, and newer clients', () => {
  const packageOf = (folder: string) => JSON.parse(readFileSync(join(projectRoot, folder, 'package.json'), 'utf8'))
  const [here, node22] = [packageOf('.'), packageOf('test/node22')]
  assert.equal(node22.dependencies['uWebSockets.js'], here.dependencies['uWebSockets.js'])
  assert.equal(node22.dependencies.zod, here.devDependencies.zod)
  const isUnderNode22 = import.meta.url.includes('/dist-node22/')
  assert.equal(VERSION, isUnderNode22 ? node22.dependencies.openai : here.devDependencies.openai)
})
