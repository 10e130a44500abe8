import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { ProfileFile } from '../../bench/profiles.ts'
import type { BenchResults } from '../../bench/results.ts'
import { compiled } from '../../control/launch/paths.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'

const CASES = ['small', 'stream-flushed', 'body-1m', 'keys-1000']
const TARGETS = ['proxy-only', 'sluice', 'direct']

const folder = makeTempDir('bench')
after(() => removeTempDir(folder))

function run(program: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [compiled(`bench/${program}.js`), ...args])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part: Buffer) => {
      output += part.toString()
    })
  }
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}

function read<Content>(name: string): Content {
  return JSON.parse(readFileSync(join(folder, name), 'utf8')) as Content
}

// CPU time is read from /proc.
const linux = { skip: process.platform !== 'linux' }

test('a short benchmark run measures, books its requests and reports', linux, async () => {
  const args = [
    '--quick',
    '--cases',
    [...CASES, 'load-test', 'memory', 'profile'].join(','),
    '--targets',
    TARGETS.join(','),
  ]
  const { code, output } = await run('run', [...args, '--output', folder])
  assert.equal(code, 0, output)
  const results = read<BenchResults>('last.json')
  const measured = results.measurements.map((one) => `${one.case} ${one.target}`)
  for (const name of CASES) assert.ok(measured.includes(`${name} sluice`), `${name} in ${measured}`)
  assert.ok(measured.includes('small proxy-only') && measured.includes('small direct'))
  for (const { load, cpuMicros, residentBytes } of results.measurements) {
    assert.ok(load.requests > 0 && load.wrong === 0 && cpuMicros > 0 && residentBytes > 0, JSON.stringify(load))
  }
  // Only what was metered is in the book: the audit compares it with Redis, this with what was sent.
  const [books] = results.books
  assert.ok(books?.auditClean && books?.receipts === books?.requests && books?.requests > 10_000, JSON.stringify(books))
  const { loadTests = [] } = results
  assert.equal(loadTests.length, 2)
  for (const { title, sluice, direct } of loadTests) {
    assert.ok(sluice.good > 0 && sluice.good === sluice.receipts.seen, title)
    assert.deepEqual([sluice.failed, direct.failed, direct.receipts.seen], [0, 0, 0], title)
  }
  assert.equal(results.memory?.samples.length, 20)
  const { before, now } = read<ProfileFile>('profile.json')
  assert.equal(before, null)
  for (const { case: name, rows, cpuMicros } of now.cases) {
    assert.ok(cpuMicros > 0, name)
    assert.ok(
      rows.some(({ file }) => file.startsWith('proxy/')),
      JSON.stringify(rows),
    )
  }
  assert.ok(results.allocations.length > 0 && results.allocations.every(({ bytes }) => bytes > 0))
  const report = readFileSync(join(folder, 'REPORT.md'), 'utf8')
  assert.match(report, /^# How fast Sluice is$/m)
  assert.doesNotMatch(report, /NaN|undefined/)
  assert.match(readFileSync(join(folder, 'report.svg'), 'utf8'), /^<svg [^>]*>/)
})

for (const [program, sizes] of [
  ['settlement', ['2000', '100']],
  ['payments', ['32']],
  ['audit', ['4000']],
  ['growth', ['20000']],
] as const) {
  test(`bench/${program} checks a small run of its own and prints the figures`, linux, async () => {
    const { code, output } = await run(program, [...sizes, '--json'])
    assert.equal(code, 0, output)
    const figures = output.match(/"\w+":\d[\d.e+]*/g) ?? []
    assert.ok(figures.length > 2, output)
  })
}
