// Goal: a full disk under the log stops no program. Method: real programs whose standard output is /dev/full, which refuses every
// write as a full disk does.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { compiled } from '../../../control/launch/paths.ts'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'
import { until } from '../../support/until.ts'

const NOBODY = '127.0.0.1:9'

const dir = makeTempDir('log-output')
after(() => removeTempDir(dir))

for (const program of ['control', 'proxy']) {
  test(`${program} goes on while the disk of its log is full, and ends at SIGTERM`, async () => {
    const port = String(await freePort())
    const full = openSync('/dev/full', 'a')
    const child = spawn(process.execPath, [compiled(`${program}/main.js`)], {
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: `postgres://nobody@${NOBODY}/none`,
        REDIS_URL: `redis://${NOBODY}`,
        SLUICE_BUS_KEY: 'ab'.repeat(32),
        SLUICE_DATA: dir,
        PORT: '0',
        SLUICE_METRICS_PORT: port,
        SLUICE_CONTROL_METRICS_PORT: port,
      },
      stdio: ['ignore', full, 'pipe'],
    })
    closeSync(full)
    assert.ok(child.stderr)
    const said = text(child.stderr)
    const ended = once(child, 'exit')
    const isLive = () =>
      fetch(`http://127.0.0.1:${port}/live`).then(
        ({ ok }) => ok,
        () => false,
      )
    await until('it lives, or has ended', async () => child.exitCode !== null || (await isLive()))
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 30_000)
    const [status, signal] = await ended
    clearTimeout(late)
    assert.deepEqual([status, signal], [0, null])
    assert.equal(await said, '')
  })
}
