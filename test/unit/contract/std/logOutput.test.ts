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

test('a line is written before the call for it ends, so that an exit after it loses nothing', () => {
  const path = join(dir, 'lines.log')
  const file = openSync(path, 'a')
  const output = new LogOutput(file)
  for (const line of lines(100)) output.write(line)
  assert.equal(readFileSync(path, 'utf8'), lines(100).join(''))
  closeSync(file)
})

test('an output that fails takes its lines once it works again, and those beyond a bound are dropped', async () => {
  const path = join(dir, 'full.log')
  const full = openSync('/dev/full', 'a')
  const output = new LogOutput(full)
  const line = `${'x'.repeat(1_023)}\n`
  for (let i = 0; i < 2_048; i++) output.write(line)
  closeSync(full)
  const file = openSync(path, 'a')
  assert.equal(file, full, 'the file has the number of the one before')
  await until('the lines are written', () => readFileSync(path, 'utf8').length >= MIB)
  const written = readFileSync(path, 'utf8')
  assert.ok(written.length <= MIB + line.length, `${written.length} bytes`)
  assert.equal(written, line.repeat(written.length / line.length))
  closeSync(file)
})
