import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadOptions, requestBody } from '../../../bench/bodies.ts'
import { CASES, caseNamed, IMAGES, PROMPT, TARGET_NAMES } from '../../../bench/cases.ts'
import { readSettings } from '../../../bench/settings.ts'

const names = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const settings = readSettings(args, env)
  assert.ok(settings !== undefined)
  return { ...settings, cases: settings.cases.map(({ name }) => name) }
}

test('without arguments everything is measured, and only then are the figures saved', () => {
  const all = names([])
  assert.deepEqual([all.targets, all.cases.length, all.isWhole], [TARGET_NAMES, CASES.length, true])
  assert.deepEqual([...all.parts], ['load-test', 'accounts', 'installation', 'memory', 'profile', 'settlement'])
  for (const args of [['--quick'], ['--targets', 'nginx,sluice'], ['--cases', 'small'], ['--rounds', '2']]) {
    assert.equal(names(args).isWhole, false, args.join(' '))
  }
  assert.equal(names([], { BENCH_QUICK: '1' }).quick, true)
})

test('cases, parts and targets are chosen by name, in their own order', () => {
  const chosen = names(['--cases', 'memory,stream-100,small', '--targets', 'sluice,nginx'])
  assert.deepEqual([chosen.cases, [...chosen.parts]], [['small', 'stream-100'], ['memory']])
  assert.deepEqual(chosen.targets, ['nginx', 'sluice'])
  // The parts measure Sluice alone.
  assert.deepEqual([...names(['--targets', 'nginx']).parts], [])
})

test('unknown or invalid settings are rejected by name', () => {
  assert.throws(() => readSettings(['--cases', 'smal'], {}), /--cases: there is no smal; known are small,/)
  assert.throws(() => readSettings(['--targets', 'apache'], {}), /there is no apache/)
  assert.throws(() => readSettings(['--rounds', '0'], {}), /--rounds/)
  assert.throws(() => readSettings([], { BENCH_SECONDS: 'x' }), /--seconds/)
  assert.throws(() => readSettings(['--fast'], {}), /--fast/)
})

test('bodies have the size that their case promises', () => {
  const size = (name: string) => Buffer.byteLength(requestBody(caseNamed(name), 'model'))
  assert.ok(Math.abs(size(PROMPT) - 65_536) < 500, `${size(PROMPT)} bytes`)
  assert.ok(Math.abs(size(IMAGES) - 1_048_576) < 1_000, `${size(IMAGES)} bytes`)
  for (const kind of CASES) {
    const target = { name: 'any', host: 'h', port: 1, path: '/' }
    const { body, streamed } = loadOptions(kind, target, true, 'model')
    assert.equal((JSON.parse(body) as { stream?: boolean }).stream === true, streamed)
  }
})
