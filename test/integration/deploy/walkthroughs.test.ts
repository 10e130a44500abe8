// Goal: the commands of the pages on the image, compose and Kubernetes name files, services, objects and commands that exist.
// Method: no engine and no cluster is here, so the words of the commands are compared with what the manifests have.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import { COMMANDS } from '../../../control/cli/main.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { readCompose } from '../../support/deploy/compose.ts'
import { chartValues } from '../../support/deploy/helmChart.ts'
import { renderOverlay } from '../../support/deploy/kubernetes.ts'
import { fencedBlocks } from '../../support/fencedBlocks.ts'
import { markdownPages } from '../../support/markdownPages.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

/** What the reader makes by the page. */
const OWN = 'deploy/k8s/overlays/mine'
const names = ['containers', 'compose', 'kubernetes'].map((name) => `docs/operations/${name}.md`)
const pages = names.map((path) => ({ path, blocks: fencedBlocks(join(projectRoot, path), path) }))
const lines = pages.flatMap(({ blocks }) =>
  blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.split('\n')),
)
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0

test('each block is a script that a shell takes', () => {
  for (const { language, text, place } of pages.flatMap(({ blocks }) => blocks)) {
    if (language !== 'sh') continue
    const done = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' })
    assert.equal(done.status, 0, `${place}: ${done.stderr}`)
  }
})

test('files exist', () => {
  const paths = lines.flatMap((line) => line.match(/\bdeploy\/[\w./-]+/g) ?? [])
  assert.ok(paths.length > 5)
  for (const path of paths) assert.ok(path.startsWith(OWN) || existsSync(join(projectRoot, path)), path)
})

test('services and volumes of compose exist', () => {
  const { services, volumes } = readCompose()
  const calls = lines.filter((line) => line.startsWith('docker compose '))
  assert.ok(calls.length > 5)
  for (const line of calls) {
    const [, verb, rest = ''] = /^docker compose (\w+)(.*)$/.exec(line) ?? []
    const words = rest.split(/\s+/).filter(Boolean)
    const options = { exec: ['-u'], run: ['-u', '--entrypoint'], up: [], restart: [], down: [] }[verb ?? ''] ?? []
    const named = words.filter((word, i) => !word.startsWith('-') && !options.includes(words[i - 1] ?? ''))
    for (const name of verb === 'exec' || verb === 'run' ? named.slice(0, 1) : named)
      assert.ok(name in services, `${line}: there is no service ${name}`)
  }
  const removed = lines.flatMap((line) => line.match(/\bsluice_\w+/g) ?? []).map((name) => name.slice('sluice_'.length))
  for (const name of removed) assert.ok(name in volumes, `there is no volume ${name}`)
})

test('values that are set on the command line of Helm exist', () => {
  const set = lines.flatMap((line) => [...line.matchAll(/--set(?:-file)? ([\w.]+)=/g)].map(([, path = '']) => path))
  assert.ok(set.length > 4)
  for (const path of set) {
    const value = path
      .split('.')
      .reduce<unknown>((at, name) => (isJsonObject(at) ? at[name] : undefined), chartValues())
    assert.equal(typeof value, 'string', path)
  }
})

test('objects of Kubernetes exist', { skip: !hasKubectl && 'kubectl is not here' }, () => {
  const objects = renderOverlay('production').map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`)
  const named = lines.flatMap((line) => line.match(/\b(?:job|deployment|statefulset)[/ ]\w+/g) ?? [])
  assert.ok(named.length > 4)
  for (const name of named) assert.ok(objects.includes(name.replace(' ', '/')), name)
})

test('commands of Sluice exist', () => {
  const known = COMMANDS.flatMap((entry) =>
    'commands' in entry
      ? entry.commands.map(({ synopsis }) => `${entry.name} ${synopsis.split(' ')[0]}`)
      : [entry.synopsis.split(' ')[0] ?? ''],
  )
  const called = lines.flatMap((line) => [
    ...line.matchAll(
      /(?:dist\/control\/cli\.js|docker run --rm sluice|run --rm --no-deps control) ([a-z][\w -]*?)(?= --|\/|$| \||\.)/g,
    ),
  ])
  assert.ok(called.length > 4)
  for (const [, words = ''] of called)
    assert.ok(
      known.some((command) => words === command || words.startsWith(`${command} `)),
      `there is no ${words}`,
    )
})

test('units of systemd are taken without a warning', (t) => {
  if (spawnSync('systemd-analyze', ['--version']).error !== undefined) return t.skip('systemd-analyze is not here')
  const blocks = markdownPages().flatMap((page) => page.blocks)
  const units = blocks.filter(({ text }) => text.startsWith('# /etc/systemd/system/'))
  assert.ok(units.length > 0)
  const dir = makeTempDir('units')
  t.after(() => removeTempDir(dir))
  for (const { text, place } of units) {
    const [, name = ''] = /system\/(\S+)/.exec(text) ?? []
    // Node.js is elsewhere on the machines of developers.
    writeFileSync(join(dir, name), text.replace('/usr/bin/node', process.execPath))
    const done = spawnSync('systemd-analyze', ['verify', '--man=no', join(dir, name)], { encoding: 'utf8' })
    assert.deepEqual([done.status, done.stderr], [0, ''], place)
  }
})
