// Goal: what `connectRedis` promises holds in a cluster as well: lost commands are rejected and never sent again, an answer has a
// bounded time, keys of all shards are reached. Method: three masters; single nodes are stopped, killed, and given slots.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { clusterOf, connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { accountKey, debitsKey, epochKey, leasesKey, SHARD_COUNT } from '../../../contract/wire/redisKeys.ts'
import { pipelineOf, scanKeys, subscribersOf } from '../../../contract/wire/redisShards.ts'
import { defineScript, scriptFor } from '../../../contract/wire/scripts.ts'
import { serversOf } from '../../../contract/wire/servers.ts'
import { ensureGroups, readGroup } from '../../../control/book/settlement/streamReader.ts'
import { type ClusterNode, startTestCluster, type TestCluster } from '../../support/redis/redisCluster.ts'
import { until } from '../../support/until.ts'

const FAIL_AFTER_MS = 400
const SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard)

let cluster: TestCluster
let redis: Redis
const opened: Redis[] = []

before(async () => {
  cluster = await startTestCluster({ replicas: 0, nodeTimeoutMs: 15_000 })
  redis = await open('wait')
})
after(async () => {
  for (const connection of opened) connection.disconnect()
  await cluster.stop()
})

async function open(lost: Parameters<typeof connectRedis>[1]): Promise<Redis> {
  const connection = connectRedis(cluster.url, lost)
  connection.on('error', () => {})
  opened.push(connection)
  await until('the connection is up', () => connection.status === 'ready')
  return connection
}

/** A key of a shard that this node has. */
async function keyAt(node: ClusterNode): Promise<string> {
  for (const shard of SHARDS) {
    const key = `probe:{s${String(shard).padStart(2, '0')}}`
    if ((await cluster.ownerOf(await cluster.slotOf(key))) === node) return key
  }
  throw new Error('the node has no shard')
}

test('one pipeline and one scan reach the keys of all shards', async () => {
  const write = pipelineOf(redis)
  for (const shard of SHARDS)
    write.set(accountKey(shard, 'a'), shard).get(accountKey(shard, 'a')).hget(epochKey(0), 'x')
  const answers = (await write.exec()) ?? []
  assert.deepEqual(
    answers.filter((_, i) => i % 3 === 1).map(([, value]) => value),
    SHARDS.map(String),
  )
  const found = new Set<string>()
  for await (const keys of scanKeys(redis, { match: 'acct:*', count: 10 })) for (const key of keys) found.add(key)
  assert.equal(found.size, SHARD_COUNT)
  await redis.set(epochKey(0), 'text')
  const failing = await pipelineOf(redis).hget(epochKey(0), 'x').get(epochKey(0)).exec()
  assert.match(String(failing?.[0]?.[0]?.message), /WRONGTYPE/)
  assert.deepEqual(failing?.[1], [null, 'text'])
})

test('a subscriber is counted on every node', async () => {
  const listeners = await Promise.all([1, 2, 3, 4].map(() => open('wait')))
  await Promise.all(listeners.map((listener) => listener.subscribe('channel')))
  const heard = Promise.all(listeners.map((listener) => new Promise((resolve) => listener.on('message', resolve))))
  assert.equal(await subscribersOf(redis, 'channel'), 4)
  await redis.publish('channel', 'text')
  await heard
})

test('a read of all streams waits for the first entry of any', async () => {
  await ensureGroups(redis)
  assert.deepEqual(await readGroup(redis, 'reader', '>', { countPerStream: 10, blockMs: 50 }), [])
  const reading = readGroup(await open('wait'), 'reader', '>', { countPerStream: 10, blockMs: 5_000 })
  await redis.xadd('ledger:{s07}', '*', 'e', 'entry')
  assert.deepEqual(
    (await reading).map(({ shard }) => shard),
    [7],
  )
})

const [movedEpoch, movedLeases, movedAccount] = [epochKey(3), leasesKey(3, 'own_a'), accountKey(3, 'acct')]

for (const [where, first] of [
  ['the account', [movedAccount]],
  ['all that the script names', [movedEpoch, movedLeases]],
] as const) {
  test(`a script waits until the slot of its keys has moved, ${where} first, and runs once`, async () => {
    await redis.set(movedEpoch, 'evt')
    await redis.hset(movedLeases, { 'L:key:1': 'acct|key|1|0|0|5|', op: '1' })
    await redis.hset(movedAccount, { coin: '10', out: '5' })
    const slot = await cluster.slotOf(movedEpoch)
    const owner = await cluster.ownerOf(slot)
    const target = cluster.nodes.find((node) => node !== owner)
    assert.ok(target)
    const closeOwner = defineScript(redis, 'closeOwner')
    let closing: Promise<unknown> | undefined
    const call = async (): Promise<void> => {
      closing = closeOwner([movedEpoch, movedLeases], [60])
      assert.equal(await Promise.race([closing, redis.ping()]), 'PONG')
    }
    await cluster.moveSlot(slot, target, call, first)
    assert.deepEqual(await closing, [0, 5])
    assert.deepEqual(await redis.hmget(movedAccount, 'coin', 'out'), ['15', '0'])
    assert.equal(await redis.exists(debitsKey(3)), 0)
    await redis.del(movedLeases, movedAccount)
  })
}

test('a node importing a slot runs no script on its keys, even with ASKING', async () => {
  const slot = await cluster.slotOf(movedEpoch)
  const owner = await cluster.ownerOf(slot)
  const target = cluster.nodes.find((node) => node !== owner)
  assert.ok(target)
  await redis.set(movedEpoch, 'evt')
  const lua = scriptFor(redis, "return redis.call('SET', string.gsub(KEYS[1], 'epoch', 'other'), '1')")
  await cluster.moveSlot(slot, target, async () => {
    const [, ran] = await Promise.allSettled([
      target.admin.call('ASKING'),
      target.admin.call('EVAL', lua, '1', movedEpoch),
    ])
    assert.match(String(ran.status === 'rejected' && ran.reason), /non local key/)
  })
})

test('a hanging node costs a bounded time, and commands that were never sent do not run later', async () => {
  const late = await open({ failAfterMs: FAIL_AFTER_MS })
  // One that was not connected to: what is sent on a connection, a server runs whenever it comes to it.
  const unused =
    clusterOf(late)
      ?.nodes('master')
      .filter(({ status }) => status === 'wait') ?? []
  const node = cluster.nodes.find(({ process }) => unused.some(({ options }) => options.port === process.port))
  assert.ok(node?.process.pid)
  const key = await keyAt(node)
  process.kill(node.process.pid, 'SIGSTOP')
  try {
    const beganMs = performance.now()
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => late.incr(key)))
    assert.ok(results.every(({ status }) => status === 'rejected'))
    // Without a bound they would wait for as long as the node hangs, which is until the end of this test.
    assert.ok(performance.now() - beganMs < FAIL_AFTER_MS * 50)
  } finally {
    process.kill(node.process.pid, 'SIGCONT')
  }
  await cluster.untilWell()
  const isUsed = (): Promise<boolean> =>
    late.get(key).then(
      () => true,
      () => false,
    )
  await until('the node is used again', isUsed)
  assert.equal(await redis.get(key), null)
})

test('commands in flight at a killed node are rejected and not resent', async () => {
  const node = cluster.nodes[1]
  assert.ok(node)
  const key = await keyAt(node)
  const waiting = await open('wait')
  await waiting.set(key, '0')
  const block = waiting.call('BLPOP', `${key}:list`, '0')
  const behind = waiting.incr(key)
  const rejected = Promise.allSettled([block, behind])
  await until('it is blocked', async () => /blocked_clients:1/.test(await node.admin.info('clients')))
  await node.process.kill9()
  assert.deepEqual(
    (await rejected).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  const lateRead = waiting.get(key)
  await node.process.start()
  await cluster.untilWell()
  assert.equal(await lateRead, '0')
})

test('a server has another run id after a restart and after a failover back to it', async () => {
  const before = await serversOf(redis)
  assert.equal(before.split(',').length, 3)
  assert.equal(await serversOf(redis), before)
  const node = cluster.nodes[2]
  assert.ok(node)
  await node.process.kill9()
  await node.process.start()
  await cluster.untilWell()
  await until('it is asked again', async () => (await serversOf(redis).catch(() => before)) !== before)
})
