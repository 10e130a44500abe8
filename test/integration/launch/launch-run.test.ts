import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { isOutage } from '../../../control/launch/outage.ts'
import { compiled, projectRoot } from '../../../control/launch/paths.ts'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { WATCH_EVENTS } from '../../../control/runtime/watchEvents.ts'
import { interrupt, launch, leftovers, readDemo, running } from '../../support/launchedRun.ts'
import { patientLimits } from '../../support/limits.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const START_TIMEOUT_MS = 180_000

/** What a stranger sees who pays the running demo for a request. */
async function demoPay(dir: string): Promise<string> {
  return output(dir, join(projectRoot, 'scripts/demo-pay.mjs'))
}

async function audit(dir: string): Promise<void> {
  const shown = await output(dir, compiled('control/cli.js'), 'audit')
  assert.match(shown, /holds +the treasury has the tokens of the book +2 tokens/)
}

/** Runs a program on the demo's data. @returns what it wrote, once it has succeeded */
async function output(dir: string, ...args: string[]): Promise<string> {
  const unset = { DATABASE_URL: '', REDIS_URL: '' }
  const env = { ...process.env, ...unset, SLUICE_DATA: join(dir, '.sluice'), SLUICE_LIMITS: patientLimits() }
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, cwd: dir, timeout: START_TIMEOUT_MS })
  return stdout
}

/** A start beside a run is refused, and leaves its files and its database as they are. */
async function assertSecondStartChangesNothing(dir: string, databaseUrl: string): Promise<void> {
  const data = join(dir, '.sluice')
  const look = () => readdirSync(data).map((name) => [name, statSync(join(data, name)).mode])
  const before = [statSync(data).mode, look()]
  const beside = launch(dir, await freePort())
  const [code] = await once(beside.child, 'close')
  assert.equal(code, 1)
  assert.match(
    beside.output(),
    /^Sluice did not start: Sluice already runs on .*\.sluice \(process \d+\); stop it,.*\n$/,
  )
  assert.deepEqual([statSync(data).mode, look()], before)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  // A checkpoint writes files of the cluster, which a database shut out of its folder could not.
  await client.query('CHECKPOINT').finally(() => client.end())
}

test('it serves a demo, stops cleanly, and restarts with the same account and receipts', async (t) => {
  const dir = makeTempDir('run')
  t.after(() => removeTempDir(dir))
  const port = await freePort()
  const first = launch(dir, port)
  t.after(() => first.child.kill('SIGTERM'))
  await running(first)
  const demo = readDemo(dir)
  assert.equal(leftovers(dir).length, 3, 'PostgreSQL, Redis and the development chain run')
  assert.equal(demo.base_url, `http://127.0.0.1:${port}`)
  assert.ok(first.output().includes(demo.api_key) && first.output().includes('curl -N'), first.output())
  assert.ok(first.output().includes(`/console#key=${demo.api_key}\n`), first.output())
  for (const url of [demo.metrics_url, demo.control_metrics_url]) {
    assert.equal((await fetch(url)).status, 200)
    assert.ok(first.output().includes(url), first.output())
  }
  const started = JSON.parse(readFileSync(join(dir, '.sluice/run.json'), 'utf8'))
  await assertSecondStartChangesNothing(dir, started.database_url)
  assert.equal(started.catalog, realpathSync(join(dir, '.sluice/demo-catalog.yaml')))

  const headers = { authorization: `Bearer ${demo.api_key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: demo.models[0], messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 })
  const answer = await fetch(`${demo.base_url}/v1/chat/completions`, { method: 'POST', headers, body })
  assert.equal(answer.status, 200, await answer.clone().text())
  const requestId = answer.headers.get('x-request-id')
  await answer.arrayBuffer()
  assert.match(
    await demoPay(dir),
    /402: [\s\S]*Paid [\s\S]*The answer[\s\S]*Refunded +0\.\d+ USD Coin in transaction 0x/,
  )
  // An operator lowers a price; the demo writes its own catalog anew at the next start, which would raise it again.
  const lowered = join(dir, 'lowered.yaml')
  writeFileSync(lowered, readFileSync(started.catalog, 'utf8').replace('input: "0.15"', 'input: "0.14"'))
  await output(dir, compiled('control/cli.js'), 'catalog', 'publish', lowered)
  await interrupt(first)
  await assert.rejects(fetch(demo.base_url))
  for (const file of ['run.pid', 'run.json']) assert.equal(existsSync(join(dir, '.sluice', file)), false, file)
  assert.deepEqual(leftovers(dir), [])

  const second = launch(dir, port)
  t.after(() => second.child.kill('SIGTERM'))
  await running(second)
  const again = readDemo(dir)
  assert.deepEqual([again.api_key, again.account_id], [demo.api_key, demo.account_id])
  const receipt = await fetch(`${demo.base_url}/v1/receipts/${requestId}`, { headers })
  assert.equal(receipt.status, 200)
  assert.match(await demoPay(dir), /Refunded +0\.\d+ USD Coin in transaction 0x/, 'the chain goes on where it was')
  const pricing = (await (await fetch(`${demo.base_url}/v1/pricing`)).json()) as {
    models: { price: { input: string } }[]
  }
  assert.equal(pricing.models[0]?.price.input, '0.14', 'the published price stays in force')
  const more = await fetch(`${demo.base_url}/v1/chat/completions`, { method: 'POST', headers, body })
  assert.equal(more.status, 200, await more.text())
  await audit(dir)
  // A machine that runs tests may keep its servers from answering in time.
  const ofLoad = Object.values(WATCH_EVENTS).map(([, text]) => `control: ${text}`)
  const told = second.output().match(/^(control|proxy|provider): .*$/gm) ?? []
  const isOfLoad = (line: string) => isOutage(line) || ofLoad.some((text) => line.startsWith(text))
  const warnings = told.filter((line) => !isOfLoad(line))
  assert.equal(warnings.length, 1, second.output())
  assert.match(warnings[0] ?? '', /^control: a catalog that was published by command is in force; .*demo-catalog\.yaml/)
  await interrupt(second)
})

test('a port in use and invalid settings are named', async (t) => {
  const dir = makeTempDir('run')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    removeTempDir(dir)
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const cases: Array<[number, NodeJS.ProcessEnv, RegExp]> = [
    [address.port, {}, /port \d+ of 127\.0\.0\.1 is taken; .* set PORT/],
    [0, { HOST: '192.0.2.1', PORT: '8080' }, /port 8080 of 192\.0\.2\.1 cannot be opened, because .* set HOST to one/],
    [0, { SLUICE_DATA: '/tmp' }, /SLUICE_DATA is \/tmp, which all users share; name a separate folder/],
    [0, { SLUICE_DATA: '/dev/null/data' }, /SLUICE_DATA is \/dev\/null\/data, which cannot be made \(ENOTDIR\)/],
    [0, { PORT: 'http' }, /PORT must be a number/],
    [0, { SLUICE_WORKERS: '0' }, /^Sluice did not start: SLUICE_WORKERS must be a number from 1 to 256, not "0"\n$/],
    [0, { SLUICE_METRICS_PORT: 'x' }, /^Sluice did not start: SLUICE_METRICS_PORT must be a number from 0 to 65535/],
    [0, { SLUICE_LIMITS: '{"nope":1}' }, /^Sluice did not start: SLUICE_LIMITS names an unknown limit: nope\n$/],
    [0, { SLUICE_LIMITS: '{' }, /^Sluice did not start: SLUICE_LIMITS is not valid JSON: .*\n$/],
    [0, { REDIS_URL: 'localhost:6379' }, /^Sluice did not start: REDIS_URL must be an address such as redis:.*\n$/],
    [0, { LOG_LEVEL: 'loud' }, /^Sluice did not start: LOG_LEVEL must be one of .*, not "loud"\n$/],
    [0, { SLUICE_CATALOG: 'nowhere.yaml' }, /SLUICE_CATALOG names a file that is not there/],
  ]
  for (const [port, env, message] of cases) {
    const run = launch(dir, port, env)
    const [code] = await once(run.child, 'close')
    assert.equal(code, 1)
    assert.match(run.output(), message)
    assert.equal(existsSync(join(dir, '.sluice/postgres')), false, 'nothing was started')
  }
})
