import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { Redis } from 'ioredis'
import pg from 'pg'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { processOf } from '../../../control/launch/process/leftover.ts'
import { ManagedProcess } from '../../../control/launch/process/managedProcess.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase, startTestPostgres, startTestRedis } from '../../support/services.ts'
import { until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(text)
    return rows
  } finally {
    await client.end()
  }
}

test('every caller gets its own empty database', async () => {
  const [first, second] = await Promise.all([freshDatabase(), freshDatabase()])
  await query(first, 'CREATE TABLE t (n int)')
  assert.deepEqual(await query(second, "SELECT 1 FROM pg_tables WHERE tablename = 't'"), [])
})

test('PostgreSQL restarts at its address with the data committed before it was killed', async (t) => {
  const postgres = await startTestPostgres()
  t.after(() => postgres.stop())
  await query(postgres.url, 'CREATE TABLE t AS SELECT 7 AS n')
  await postgres.kill9()
  await assert.rejects(query(postgres.url, 'SELECT 1'))
  await postgres.restart()
  assert.deepEqual(await query(postgres.url, 'SELECT n FROM t'), [{ n: 7 }])
})

test('Redis restarts at its address with the data written before it was killed', async (t) => {
  const server = await startTestRedis()
  const redis = new Redis(server.url)
  redis.on('error', () => {})
  t.after(async () => {
    redis.disconnect()
    await server.stop()
  })
  await redis.set('a', '7')
  await server.kill9()
  assert.equal(server.pid(), undefined)
  await server.restart()
  assert.equal(await redis.get('a'), '7')
})

function nodeProcess(t: test.TestContext, script: string): ManagedProcess {
  const dir = makeTempDir('process')
  const child = new ManagedProcess({
    name: 'child',
    command: process.execPath,
    args: ['-e', script],
    env: process.env,
    logFile: join(dir, 'child.log'),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 500,
    limits,
  })
  t.after(async () => {
    await child.kill9()
    removeTempDir(dir)
  })
  return child
}

test('a process that exits before it is ready reports the reason', async (t) => {
  const child = nodeProcess(t, 'console.log("no such catalog"); process.exit(3)')
  await assert.rejects(child.start(), /child did not start \(exit code 3\):\nno such catalog/)
  assert.equal(child.running, false)
})

test('log lines of an earlier run are not reported as the reason of this one', async (t) => {
  const dir = makeTempDir('process')
  t.after(() => removeTempDir(dir))
  const logFile = join(dir, 'child.log')
  writeFileSync(logFile, 'an old fault\n')
  // With and without a look at its lines: they come to the log in different ways.
  for (const onLine of [undefined, () => {}]) {
    const child = new ManagedProcess({
      name: 'child',
      command: process.execPath,
      args: ['-e', 'console.error("a new fault"); process.exit(3)'],
      env: process.env,
      logFile,
      onLine,
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 500,
      limits,
    })
    await assert.rejects(child.start(), { message: 'child did not start (exit code 3):\na new fault' })
  }
})

test('a killed process ends immediately, together with its child processes', async (t) => {
  const script = `
    const { spawn } = require('node:child_process')
    process.on('SIGTERM', () => {})
    const worker = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'])
    process.send({ ready: { port: worker.pid } })`
  const child = nodeProcess(t, script)
  await child.start()
  const worker = child.ready['port'] ?? assert.fail()
  assert.equal(process.kill(worker, 0), true)
  await child.cut()
  assert.equal(child.lastExit?.signal, 'SIGKILL')
  await until('the worker has ended', () => isGone(worker))
})

/** Ended, even if not yet collected by the process that took it over. */
function isGone(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

test('a process announces its listening address, and is killed when it does not stop', async (t) => {
  const child = nodeProcess(
    t,
    'setInterval(() => {}, 1000); process.on("SIGTERM", () => {}); process.send({ ready: { port: 1 } })',
  )
  await child.start()
  assert.deepEqual(child.ready, { port: 1 })
  await child.stop()
  assert.equal(child.lastExit?.signal, 'SIGKILL')
})

test('an unexpected exit is reported, a requested one is not', async (t) => {
  const child = nodeProcess(t, 'setInterval(() => {}, 1000); process.send({ ready: {} })')
  let told = 0
  child.onUnexpectedExit = () => told++
  await child.start()
  await child.stop()
  assert.equal(told, 0)
  await child.start()
  const ended = new Promise<string>((resolve) => {
    child.onUnexpectedExit = resolve
  })
  assert.ok(child.pid !== undefined)
  process.kill(child.pid, 'SIGKILL')
  assert.equal(await ended, 'SIGKILL')
})

test('a stale pid file identifies no process', () => {
  assert.equal(processOf('/nowhere/run.pid', /./), undefined)
})

test('an allocated port is not allocated again, even while it is unused', async (t) => {
  const [dir, before] = [makeTempDir('ports'), process.env['SLUICE_PORT_NOTES']]
  process.env['SLUICE_PORT_NOTES'] = dir
  t.after(() => {
    if (before === undefined) delete process.env['SLUICE_PORT_NOTES']
    else process.env['SLUICE_PORT_NOTES'] = before
    removeTempDir(dir)
  })
  // Of so many at random, all would be different but once in fifty billion times.
  const ports = await Promise.all(Array.from({ length: 800 }, () => freePort()))
  assert.equal(new Set(ports).size, ports.length)
})
