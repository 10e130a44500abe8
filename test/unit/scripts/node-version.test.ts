import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { VERSION } from 'openai/version'
import { projectRoot } from '../../../control/launch/paths.ts'
import { HTTP_SERVERS } from '../../../proxy/server/httpServer.mjs'

interface System {
  readonly platform: string
  readonly glibc: () => string | undefined
}

interface NodeVersion {
  refusalOf(version: string, dependencies: Readonly<Record<string, string>>, system?: System): string | undefined
}

const script = join(projectRoot, 'scripts/node-version.mjs')
const { refusalOf }: NodeVersion = await import(pathToFileURL(script).href)
const NPM_PACKAGES = { 'uWebSockets.js': 'npm:@uwsjs/core@20.51.4', 'uWebSockets.js-24': 'npm:@uwsjs/core@20.69.0' }
const OFFICIAL = { ...NPM_PACKAGES, 'uWebSockets.js-24': 'uNetworking/uWebSockets.js#v20.80.0' }
const NEW_LINUX: System = { platform: 'linux', glibc: () => '2.41' }

function packageOf(folder: string) {
  return JSON.parse(readFileSync(join(projectRoot, folder, 'package.json'), 'utf8'))
}

test('only supported versions of Node.js are accepted', () => {
  for (const version of ['20.15.0', '20.19.5', '22.4.1', '24.0.0']) {
    assert.equal(refusalOf(version, NPM_PACKAGES, NEW_LINUX), undefined)
  }
  for (const version of ['18.20.0', '20.14.0']) {
    for (const dependencies of [NPM_PACKAGES, OFFICIAL])
      assert.match(refusalOf(version, dependencies) ?? '', /^Node\.js 20, 22 or 24 \(20\.15 or newer\)/)
  }
  for (const version of ['21.0.0', '23.1.0', '25.0.0', '26.1.0']) {
    assert.match(
      refusalOf(version, NPM_PACKAGES, NEW_LINUX) ?? '',
      /^Node\.js 20, 22 or 24 is needed, .* section "Newer Node\.js" of docs\/operations\/deploy\.md/,
    )
    assert.equal(refusalOf(version, OFFICIAL, NEW_LINUX), undefined)
  }
})

test('where glibc is too old for the native code, the refusal says what to use', () => {
  const refusal = (version: string, glibc: string | undefined, platform = 'linux') =>
    refusalOf(version, NPM_PACKAGES, { platform, glibc: () => glibc })
  assert.equal(
    refusal('24.21.0', '2.36'),
    'The HTTP server for Node.js 24 needs glibc 2.38 or newer, this machine has 2.36: use Debian 13, Ubuntu 24.04 or newer, or use Node.js 20 or 22.',
  )
  for (const version of ['20.20.2', '22.4.1']) assert.equal(refusal(version, '2.36'), undefined)
  for (const version of ['20.20.2', '24.21.0']) assert.match(refusal(version, undefined) ?? '', /this system has none/)
  assert.equal(refusal('24.21.0', '2.38'), undefined)
  assert.equal(refusal('24.21.0', '3.0'), undefined)
  assert.equal(refusal('24.21.0', undefined, 'darwin'), undefined)
})

test('package.json has the same range, and this Node.js is accepted', () => {
  const { engines, dependencies } = packageOf('.')
  assert.equal(engines.node, '>=20.15 <23 || ^24.0.0')
  assert.deepEqual(
    HTTP_SERVERS.flatMap(({ majors }) => majors),
    [20, 22, 24],
  )
  assert.equal(refusalOf(process.versions.node, dependencies), undefined)
  assert.equal(spawnSync(process.execPath, [script]).status, 0)
})

test('the tests under other versions of Node.js have the same HTTP servers, and newer clients', () => {
  const [here, others] = [packageOf('.'), packageOf('test/nodes')]
  for (const { name } of HTTP_SERVERS) assert.equal(others.dependencies[name], here.dependencies[name])
  assert.equal(others.dependencies.zod, here.devDependencies.zod)
  const isUnderOther = /\/dist-node\d+\//.test(import.meta.url)
  assert.equal(VERSION, isUnderOther ? others.dependencies.openai : here.devDependencies.openai)
})
