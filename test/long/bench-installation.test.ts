// Goal: the measurement of a whole installation works from end to end, and its figures are those of every process.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureInstallation } from '../../bench/parts/installation.ts'
import { PROCESS_NAMES } from '../../bench/results.ts'
import { readSettings } from '../../bench/settings.ts'
import { untilStopped } from '../../bench/stopping.ts'
import { startWorld } from '../../bench/targets/world.ts'

test('a short run on hot and cold keys reports the cost of every process, and the books balance', async () => {
  const settings = readSettings(['--quick', '--cases', 'installation'], {})
  assert.ok(settings !== undefined)
  const { result, books } = await untilStopped(async (stops) => {
    const world = await startWorld({ ...settings, targets: [] }, stops)
    return measureInstallation(settings, world, stops, () => undefined)
  })
  const seen = result.loads.map(({ keys, workers }) => `${keys} ${workers}`)
  assert.deepEqual(seen, ['hot 1', 'cold 1', 'hot 2', 'cold 2'])
  for (const { keys, requests, cpuMicros } of result.loads) {
    if (keys === 'cold') assert.equal(requests, result.coldKeys)
    for (const name of PROCESS_NAMES) assert.ok(cpuMicros[name] > 0, `${keys}: ${name}`)
  }
  assert.deepEqual(
    books.map(({ auditClean }) => auditClean),
    [true, true],
  )
})
