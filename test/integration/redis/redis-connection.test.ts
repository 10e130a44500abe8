// Goal: what `connectRedis` promises of one server: commands that are lost are rejected, an answer has a bounded time, an error
// is that of its own call. Method: a server that is paused, stopped and killed, and that wants a password.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { defineScript } from '../../../contract/wire/scripts.ts'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { FakeSentinel } from '../../support/redis/fakeSentinel.ts'
import { newRedisProcess } from '../../support/redis/redisProcess.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/until.ts'

/** Of the test that waits for it alone. */
const FAIL_AFTER_MS = 400
const PATIENT_MS = 15_000

let server: TestServer
let redis: Redis
const opened: Redis[] = []

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  redis.on('error', () => {})
  opened.push(redis)
})
after(async () => {
  for (const connection of opened) connection.disconnect()
  await server.stop()
})

function open(url = server.url, failAfterMs = PATIENT_MS): { connection: Redis; faults: Error[] } {
  const faults: Error[] = []
  const connection = connectRedis(url, { failAfterMs })
  connection.on('error', (error: Error) => faults.push(error))
  opened.push(connection)
  return { connection, faults }
}

async function openReady(url = server.url, failAfterMs = PATIENT_MS): Promise<Redis> {
  const { connection } = open(url, failAfterMs)
  await until('the connection is up', () => connection.status === 'ready')
  return connection
}

/** The heartbeat script: sets the score of an owner. */
const beat = (connection: Redis, owner: string): Promise<unknown> =>
  defineScript(connection, 'heartbeat')(['owners'], [owner])

test('a script runs, also after the server has flushed its scripts', async () => {
  const connection = await openReady()
  await beat(connection, 'own_a')
  await redis.script('FLUSH')
  await beat(connection, 'own_b')
  assert.equal(await redis.zcard('owners'), 2)
})

test('an error of a script rejects only its call', async () => {
  const connection = await openReady()
  const settle = defineScript(connection, 'settle')
  const [bad, good] = await Promise.allSettled([settle(['a'], ['nonsense']), beat(connection, 'own_c')])
  assert.deepEqual([bad.status, good.status], ['rejected', 'fulfilled'])
})

test('calls in flight when the server dies are rejected, and the connection is restored', async () => {
  const connection = await openReady()
  await redis.call('CLIENT', ['PAUSE', '10000'])
  const lost = assert.rejects(beat(connection, 'own_d'), /the connection to Redis was lost/)
  await server.kill9()
  await lost
  await assert.rejects(beat(connection, 'own_d'), /Stream isn't writeable/)
  await server.restart()
  await until('the connection is back', () => connection.status === 'ready')
  await beat(connection, 'own_d')
})

test('calls to a slow server time out within the bound', async () => {
  const connection = await openReady(server.url, FAIL_AFTER_MS)
  const pid = server.pid() ?? assert.fail()
  process.kill(pid, 'SIGSTOP')
  // It answers only after this.
  await assert.rejects(beat(connection, 'own_e'), /did not answer in time/).finally(() => process.kill(pid, 'SIGCONT'))
  const isBack = (): Promise<boolean> =>
    beat(connection, 'own_e').then(
      () => true,
      () => false,
    )
  await until('the connection is back', isBack)
})

test('the password and database of the URL are used; a wrong password never connects', async () => {
  await redis.config('SET', 'requirepass', 'hush')
  try {
    const url = new URL(server.url)
    url.password = 'hush'
    url.pathname = '/2'
    await beat(await openReady(url.href), 'own_f')
    await redis.call('AUTH', ['hush'])
    assert.equal(await redis.zscore('owners', 'own_f'), null)
    url.password = 'wrong'
    const { connection, faults } = open(url.href)
    await until('it was refused twice', () => faults.length >= 2)
    await assert.rejects(connection.ping())
    assert.match(String(faults[0]), /WRONGPASS|NOAUTH|invalid/)
  } finally {
    await redis.config('SET', 'requirepass', '')
  }
})

test('a failover announced while a lost connection queries the master does not stop it from reconnecting', async (t) => {
  const port = await freePort()
  const master = newRedisProcess({ port, settings: { port } })
  await master.start()
  t.after(() => master.stop())
  const sentinel = await FakeSentinel.start(port)
  t.after(() => sentinel.stop())
  const connection = await openReady(`redis+sentinel://127.0.0.1:${sentinel.port}/sluice/0`)
  await until('it hears of failovers', () => sentinel.listeners === 1)
  sentinel.isSilent = true
  await master.kill9()
  await until('it asks for the master', () => sentinel.asking.length > 0)
  sentinel.announce()
  await master.start()
  sentinel.isSilent = false
  sentinel.answer()
  await until('the connection is back', () => connection.status === 'ready')
  assert.equal(await connection.ping(), 'PONG')
  connection.disconnect()
  await until('it is closed', () => connection.status === 'end')
})
