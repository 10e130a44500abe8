import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Redis } from 'ioredis'
import { accountKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { systemPackagesScript } from '../../../control/launch/paths.ts'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { ManagedProcess } from '../../../control/launch/process/managedProcess.ts'
import { chat, chatStream, completion } from '../../support/clients/chatClient.ts'
import { clipOf, generate, newVideo, releaseVideos, videoIn, videoModel } from '../../support/clients/videoClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack, type TestAccount, until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const ACCOUNTS = 6
const START_UNITS = 1_000_000_000

let dir: string
let server: ManagedProcess
let redis: Redis
let stack: Stack

// One server that owns every slot refuses calls across slots just as a cluster of many does.
before(async () => {
  dir = makeTempDir('redis-cluster')
  const port = await freePort()
  const clusterPort = await freePort()
  const pidfile = join(dir, 'redis.pid')
  const settings = { port, 'cluster-port': clusterPort, bind: '127.0.0.1', dir, pidfile, 'cluster-enabled': 'yes' }
  server = new ManagedProcess({
    name: 'Redis',
    command: execFileSync(process.execPath, [systemPackagesScript, 'redis'], { encoding: 'utf8' }).trim(),
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    env: process.env,
    logFile: join(dir, 'redis.log'),
    probe: () => accepts(port),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 5_000,
    limits,
  })
  await server.start()
  redis = new Redis(port, '127.0.0.1')
  redis.on('error', () => undefined)
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await until('the cluster has all slots', async () =>
    /cluster_state:ok/.test(String(await redis.call('CLUSTER', 'INFO'))),
  )
  const env = { REDIS_URL: `redis://127.0.0.1:${port}`, SLUICE_REDIS_CLUSTER: '1' }
  const models = [{ id: 'test/small' }, videoModel('test/clip', 'mock,video=held')]
  stack = await startStack({ env, workers: 2, catalog: { models }, limits: { videoPollMinMs: 50 } })
})

after(async () => {
  redis?.disconnect()
  await stack?.stop()
  await server?.stop()
  if (dir !== undefined) removeTempDir(dir)
})

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** `Stack.createAccount` looks for the account in the Redis that the stack started; this one is elsewhere. */
async function newAccount(): Promise<TestAccount> {
  const { code, json, stderr } = await stack.cli('account', 'create', '--credits', '1')
  assert.equal(code, 0, stderr)
  const { account_id: accountId, api_key: apiKey } = json as { account_id: string; api_key: string }
  const key = accountKey(shardOf(accountId), accountId)
  await until('the account is in Redis', async () => (await redis.exists(key)) === 1)
  return { accountId, apiKey }
}

async function freeUnits(accountId: string): Promise<number> {
  const grants = (await redis.hget(accountKey(shardOf(accountId), accountId), 'g')) ?? ''
  return grants.split(';').reduce((sum, grant) => sum + Number(grant.split(',')[2] ?? 0), 0)
}

test('in a cluster, holds and settlements of many accounts at once stay within their slots', async () => {
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, newAccount))
  const shards = new Set(accounts.map(({ accountId }) => shardOf(accountId)))
  assert.ok(shards.size > 1)
  const charged = new Map<string, number>(accounts.map(({ accountId }) => [accountId, 0]))
  const calls = accounts.flatMap(({ accountId, apiKey }) =>
    Array.from({ length: 20 }, async (_, i) => {
      const body = { model: 'test/small', max_tokens: 1 + i }
      const receipt =
        i % 2 === 0
          ? completion(await chat(stack.baseUrl, apiKey, body)).receipt
          : (await chatStream(stack.baseUrl, apiKey, body)).receipt
      assert.equal(receipt?.status, 'ok')
      charged.set(accountId, (charged.get(accountId) ?? 0) + Number(receipt.cost.units))
    }),
  )
  await Promise.all(calls)
  for (const [accountId, units] of charged) assert.equal(await freeUnits(accountId), START_UNITS - units)
  assert.deepEqual(await redis.keys('holds:*'), [])
})

test('in a cluster, video jobs stay within the slots of their accounts', async () => {
  const accounts = await Promise.all([newAccount(), newAccount(), newAccount()])
  for (const { apiKey, accountId } of accounts) {
    const before = await freeUnits(accountId)
    const jobs = [1, 2].map(() => newVideo(stack.baseUrl, apiKey, { model: 'test/clip' }))
    const ids = (await Promise.all(jobs)).map((job) => job.id)
    assert.equal((await generate(stack.baseUrl, apiKey, { model: 'test/clip' })).status, 429)
    await releaseVideos(stack)
    for (const id of ids) {
      await videoIn(stack.baseUrl, apiKey, id, ['completed'])
      await clipOf(stack.baseUrl, apiKey, id)
    }
    assert.equal(await freeUnits(accountId), before - 800_000_000)
  }
})
