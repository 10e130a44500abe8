import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { hashSecret } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { CATALOG_KEY, epochKey, RPC_STREAM } from '../../../contract/wire/redisKeys.ts'
import { callCli } from '../../support/cli.ts'
import { callEntry, type OpenedReply, openReply, TEST_BUS_KEY } from '../../support/parts/sealedCalls.ts'
import { startTestPostgres, startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'
import { testCatalog } from '../../support/testCatalog.ts'
import { TestProcess } from '../../support/testProcess.ts'

const CHANNEL = 'rpc:reply:test'
const dir = makeTempDir('control')
const catalogFile = join(dir, 'catalog.yaml')
const replies = new Map<number, OpenedReply>()
let nextId = 1
let servers: { redis: TestServer; postgres: TestServer }
let redis: Redis
let listener: Redis
let env: NodeJS.ProcessEnv
let control: TestProcess

before(async () => {
  const [redisServer, postgres] = await Promise.all([startTestRedis(), startTestPostgres()])
  servers = { redis: redisServer, postgres }
  redis = connectRedis(redisServer.url, 'wait')
  listener = connectRedis(redisServer.url, 'wait')
  await listener.subscribe(CHANNEL)
  listener.on('messageBuffer', (_channel: Buffer, message: Buffer) => {
    const reply = openReply(CHANNEL, message)
    replies.set(reply.id, reply)
  })
  for (const connection of [redis, listener]) connection.on('error', () => {})
  writeCatalog('1')
  env = { DATABASE_URL: postgres.url, REDIS_URL: redisServer.url, SLUICE_CATALOG: catalogFile, SLUICE_DATA: dir }
  env['SLUICE_BUS_KEY'] = TEST_BUS_KEY
  control = new TestProcess('control', 'control/main.js', [], dir, env)
})

after(async () => {
  await control.stop()
  for (const connection of [redis, listener]) connection.disconnect()
  await Promise.all([servers.redis.stop(), servers.postgres.stop()])
  removeTempDir(dir)
})

function writeCatalog(input: string): void {
  const models = [{ id: 'test/small', price: { input, output: '2' } }]
  writeFileSync(catalogFile, testCatalog('http://127.0.0.1:1/v1', { models }))
}

const log = () => readFileSync(join(dir, 'control.log'), 'utf8')

async function versionInRedis(): Promise<number | undefined> {
  const record = await redis.getBuffer(CATALOG_KEY)
  return record === null ? undefined : sluice.CatalogRecord.decode(record).version
}

/** As a proxy does: asks until an answer comes. */
async function ask(operation: string, payload: Uint8Array): Promise<OpenedReply> {
  for (let attempt = 0; attempt < 40; attempt++) {
    const id = nextId++
    const timeoutMs = 1_000
    await redis.xadd(RPC_STREAM, '*', 'e', callEntry({ id, channel: CHANNEL, timeoutMs, operation, payload }))
    const answered = await until('answered', () => replies.has(id), 1_000).then(
      () => true,
      () => false,
    )
    const reply = replies.get(id)
    if (answered && reply !== undefined) return reply
  }
  return assert.fail(`${operation} was never answered\n${log()}`)
}

const resolve = (secret: string) =>
  ask('resolve_key', sluice.ResolveKeyRequest.encode({ keyHash: hashSecret(secret) }).finish())

async function createAccount(): Promise<string> {
  const made = await callCli(['account', 'create', '--credits', '1', '--json'], env)
  assert.equal(made.code, 0, made.stderr)
  return (made.json as { api_key: string }).api_key
}

test('control starts, opens admission and responds', async () => {
  await control.start()
  assert.equal(await versionInRedis(), 1)
  assert.ok(await redis.get(epochKey(0)))
  const reply = await resolve(await createAccount())
  assert.equal(reply.errorCode, '')
  assert.match(sluice.KeyRecord.decode(reply.payload).keyId, /^key_/)
  assert.equal((await resolve('sk_unknown')).errorCode, 'invalid_api_key')
  const list = JSON.parse(Buffer.from((await ask('list_sheets', Buffer.alloc(0))).payload).toString())
  assert.equal(list.data[0].version, '1')
})

test('metrics count calls and bookings', async () => {
  const text = await (await fetch(`http://127.0.0.1:${control.metricsPort}/metrics`)).text()
  assert.match(text, /^sluice_control_rpc_total\{operation="resolve_key",outcome="ok"\} [1-9]/m)
  assert.match(text, /^sluice_control_rpc_total\{operation="resolve_key",outcome="refused"\} [1-9]\d*$/m)
  assert.match(text, /^sluice_control_holds_open 0$/m)
  assert.match(text, /^sluice_control_settlement_receipts_total 0$/m)
  assert.match(text, /^sluice_control_nodejs_eventloop_lag_p99_seconds /m)
})

test('SIGHUP loads a changed catalog, and rejects one that breaks a promise', async () => {
  writeCatalog('0.5')
  process.kill(control.pid ?? assert.fail(), 'SIGHUP')
  await until('version 2 is in force', async () => (await versionInRedis()) === 2)
  writeCatalog('0.6')
  process.kill(control.pid ?? assert.fail(), 'SIGHUP')
  await until('the refusal is logged', () => log().includes('price.input may not rise from 0.5 to 0.6'))
  assert.equal(await versionInRedis(), 2)
  writeCatalog('0.5')
})

test('control responds again after Redis and PostgreSQL were killed', async () => {
  const secret = await createAccount()
  await servers.redis.kill9()
  await servers.redis.restart()
  assert.equal((await resolve(secret)).errorCode, '')
  await until('admission is open', async () => (await redis.get(epochKey(63))) !== null)
  await servers.postgres.kill9()
  await servers.postgres.restart()
  for (let attempt = 0; attempt < 20; attempt++) {
    // While PostgreSQL is away calls fail, and none is lost or hangs.
    const reply = await resolve(secret)
    if (reply.errorCode === '') return
    assert.ok(['internal_error', 'admission_unavailable'].includes(reply.errorCode), reply.errorCode)
  }
  assert.fail(`no answer after PostgreSQL came back\n${log()}`)
})

test('SIGTERM ends it with 0, and a start without a catalog change publishes no sheet', async () => {
  assert.equal(await control.sigterm(), 0)
  await control.start()
  assert.equal(await versionInRedis(), 2)
  assert.equal(await control.sigterm(), 0)
})

test('a start keeps the current sheet if the catalog breaks its promise, and fails if it is malformed', async () => {
  writeCatalog('0.75')
  await control.start()
  assert.match(log(), /price\.input may not rise from 0\.5 to 0\.75 USD per million tokens/)
  assert.equal(await versionInRedis(), 2)
  assert.equal(await control.sigterm(), 0)
  writeFileSync(catalogFile, 'coin: { usd: "1" }\nproviders: []\nmodels:\n  - id: "a,b"\n')
  await assert.rejects(control.start(), /catalog\.yaml:4: models\[0\]\.id must be an id/)
  assert.equal(await versionInRedis(), 2)
})
