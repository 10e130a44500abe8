// Goal: `make run` works with other servers and another address, and can be stopped at once. Method: whole runs of it, which take
// half a minute each.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../control/launch/process/freePort.ts'
import { interrupt, launch, leftovers, readDemo, running } from '../support/launchedRun.ts'
import { limitsText, PATIENCE } from '../support/limits.ts'
import { freshDatabase, startTestRedis } from '../support/services.ts'
import { until } from '../support/stack.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'

test('it runs on a configured Redis and PostgreSQL, Redis on its socket, and reports a mistyped variable', async (t) => {
  const dir = makeTempDir('run')
  const [redis, databaseUrl] = await Promise.all([startTestRedis({ onSocket: true }), freshDatabase()])
  t.after(async () => {
    await redis.stop()
    removeTempDir(dir)
  })
  assert.match(redis.url, /^unix:\/\/\/.*redis\.sock$/)
  const run = launch(dir, await freePort(), { DATABASE_URL: databaseUrl, REDIS_URL: redis.url, SLUICE_WORKER: '2' })
  t.after(() => run.child.kill('SIGTERM'))
  await running(run)
  assert.match(run.output(), /^SLUICE_WORKER is set but not known; did you mean SLUICE_WORKERS\?$/m)
  const demo = readDemo(dir)
  const headers = { authorization: `Bearer ${demo.api_key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: demo.models[0], messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 })
  const answer = await fetch(`${demo.base_url}/v1/chat/completions`, { method: 'POST', headers, body })
  assert.equal(answer.status, 200, await answer.text())
  assert.equal(existsSync(join(dir, '.sluice/redis')), false, 'no Redis of its own was started')
  await interrupt(run)
})

test('with another address, metrics are still on the loopback one; a second Ctrl-C stops immediately', async (t) => {
  const dir = makeTempDir('run')
  t.after(() => removeTempDir(dir))
  const SLUICE_LIMITS = limitsText({ ...PATIENCE, drainGraceMs: 60_000 })
  const run = launch(dir, await freePort(), { HOST: '127.0.0.2', SLUICE_LIMITS })
  t.after(() => run.child.kill('SIGTERM'))
  await running(run)
  const demo = readDemo(dir)
  assert.match(demo.base_url, /^http:\/\/127\.0\.0\.2:/)
  for (const url of [demo.metrics_url, demo.control_metrics_url]) {
    assert.match(url, /^http:\/\/127\.0\.0\.1:/)
    assert.equal((await fetch(url)).status, 200)
  }

  const headers = { authorization: `Bearer ${demo.api_key}`, 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = JSON.stringify({ model: 'demo/slow-story', stream: true, messages })
  const answer = await fetch(`${demo.base_url}/v1/chat/completions`, { method: 'POST', headers, body })
  assert.equal(answer.status, 200)
  const broken = assert.rejects(answer.text())
  const ended = once(run.child, 'exit')
  run.child.kill('SIGINT')
  await until('it says how long', () => /up to 60 s to end\. Ctrl-C again stops immediately/.test(run.output()))
  await sleep(1_200)
  assert.equal(run.child.exitCode, null, 'the stream still runs')
  const beganMs = performance.now()
  run.child.kill('SIGINT')
  assert.deepEqual(await ended, [0, null], run.output())
  assert.ok(performance.now() - beganMs < 20_000, 'the second Ctrl-C did not wait for the stream')
  await broken
  assert.deepEqual(leftovers(dir), [])
})
