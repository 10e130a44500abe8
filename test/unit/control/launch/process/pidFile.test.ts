// Goal: of processes that start at once on one pid file, one has it, whatever an earlier one left behind. Method: node processes that
// all wait for one file before they take it, and end when their input does.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { compiled } from '../../../../../control/launch/paths.ts'
import { takePidFile } from '../../../../../control/launch/process/pidFile.ts'
import { until } from '../../../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../../../support/tempDir.ts'

const COMPETITORS = 6
const SCRIPT = `
  import { existsSync } from 'node:fs'
  import { pathToFileURL } from 'node:url'
  const [module, file, go] = process.argv.slice(1)
  const { takePidFile } = await import(pathToFileURL(module))
  process.stdout.write('.')
  process.stdin.resume().on('end', () => process.exit())
  const waiting = setInterval(() => {
    if (!existsSync(go)) return
    clearInterval(waiting)
    process.stdout.write(String(takePidFile(file, /competitor-of-a-pid-file/) ?? 'mine'))
  }, 1)`

interface Competitor {
  readonly child: ChildProcess
  said: string
}

function compete(file: string, go: string): Competitor {
  const args = [
    '--input-type=module',
    '-e',
    SCRIPT,
    compiled('control/launch/process/pidFile.js'),
    file,
    go,
    'competitor-of-a-pid-file',
  ]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const competitor = { child, said: '' }
  child.stdout.on('data', (data) => (competitor.said += data))
  return competitor
}

for (const [left, title] of [
  [undefined, 'no file'],
  ['999999999\n', 'the file of a dead process'],
  [`${process.ppid}\n`, 'the file of another program'],
  ['', 'an empty file'],
] as const) {
  test(`one of several processes has the file, after ${title}`, async (t) => {
    const dir = makeTempDir('pid')
    const [file, go] = [join(dir, 'run.pid'), join(dir, 'go')]
    if (left !== undefined) writeFileSync(file, left)
    const all = Array.from({ length: COMPETITORS }, () => compete(file, go))
    t.after(() => {
      for (const { child } of all) child.stdin?.end()
      removeTempDir(dir)
    })
    await until('all are ready', () => all.every(({ said }) => said === '.'))
    writeFileSync(go, '')
    await until('all have an answer', () => all.every(({ said }) => said.length > 1))
    const winner = all.filter(({ said }) => said === '.mine')
    assert.equal(winner.length, 1, JSON.stringify(all.map(({ said }) => said)))
    const pid = winner[0]?.child.pid
    assert.equal(readFileSync(file, 'utf8'), `${pid}\n`)
    const pids = new Set(all.map((one) => `.${one.child.pid}`))
    for (const { said } of all) assert.ok(said === '.mine' || pids.has(said), said)
    assert.deepEqual(readdirSync(dir).sort(), ['go', 'run.pid'], 'nothing is left beside it')
  })
}

test('a file in a folder that is not there is an error, not a loop', () => {
  assert.throws(() => takePidFile('/nowhere/run.pid', /./), { code: 'ENOENT' })
})
