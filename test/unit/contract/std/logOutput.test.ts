import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { LogOutput } from '../../../../contract/std/logOutput.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'
import { until } from '../../../support/until.ts'

const MIB = 1_048_576

const dir = makeTempDir('log-output')
after(() => removeTempDir(dir))

const lines = (count: number): string[] => Array.from({ length: count }, (_, i) => `line ${i}\n`)

test('lines are written in their order, those that wait at the end of the process too', async () => {
  const path = join(dir, 'lines.log')
  const file = openSync(path, 'a')
  const output = new LogOutput(file)
  for (const line of lines(1_000)) output.write(line)
  await until('all are written', () => readFileSync(path, 'utf8') === lines(1_000).join(''))
  output.write('one in the writing\n')
  output.write('one that waits\n')
  output.flushSync()
  await until(
    'the last ones are written',
    () => readFileSync(path, 'utf8').length === lines(1_000).join('').length + 34,
  )
  closeSync(file)
})

test('an output that fails takes its lines once it works again, and those beyond a bound are dropped', async () => {
  const path = join(dir, 'full.log')
  const full = openSync('/dev/full', 'a')
  const output = new LogOutput(full)
  const line = `${'x'.repeat(1_023)}\n`
  for (let i = 0; i < 2_048; i++) output.write(line)
  output.flushSync()
  closeSync(full)
  const file = openSync(path, 'a')
  assert.equal(file, full, 'the file has the number of the one before')
  await until('the lines are written', () => readFileSync(path, 'utf8').length >= MIB)
  const written = readFileSync(path, 'utf8')
  assert.ok(written.length <= MIB + line.length, `${written.length} bytes`)
  assert.equal(written, line.repeat(written.length / line.length))
  closeSync(file)
})
