// Goal: key records are kept, read and dropped in a Redis Cluster as on one server, by one statement. Method: the proxy's cache and
// control's answers over a real book and a cluster of three nodes.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hashSecret } from '../../../contract/wire/ids.ts'
import { keptKey } from '../../../contract/wire/keptKeys.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { createKey } from '../../../control/identity/keys/keys.ts'
import { limits } from '../../support/limits.ts'
import { ColdKeys, seenBy } from '../../support/parts/coldKeys.ts'
import { startTestCluster } from '../../support/redis/redisCluster.ts'

const KEYS = 100

let world: ColdKeys
let secrets: string[]

before(async () => {
  world = await ColdKeys.start(await startTestCluster({ replicas: 0, nodeTimeoutMs: 15_000 }))
  const accountId = await openNewAccount(world.pool, limits)
  secrets = (await Promise.all(Array.from({ length: KEYS }, () => createKey(world.pool, accountId)))).map(
    ({ secret }) => secret,
  )
  await world.announce()
})
after(() => world.stop())

async function statesSeen(): Promise<Set<string>> {
  const proxy = await world.newProxy()
  return new Set(await Promise.all(secrets.map((secret) => seenBy(proxy, secret))))
}

test('records of all shards are asked for in one call, and read by other processes without control', async () => {
  const shards = new Set(secrets.map((secret) => keptKey(hashSecret(secret)).shard))
  assert.ok(shards.size > 1)
  assert.deepEqual(await statesSeen(), new Set(['active']))
  assert.deepEqual([world.calls, world.statements], [1, 1])
  assert.deepEqual(await statesSeen(), new Set(['active']))
  assert.deepEqual([world.calls, world.statements], [1, 1])
})

test('changes of keys of all shards drop their records', async () => {
  await world.pool.query('UPDATE api_keys SET paused = true WHERE hash = ANY ($1)', [secrets.map(hashSecret)])
  await world.announce()
  assert.deepEqual(await statesSeen(), new Set(['paused']))
  assert.deepEqual([world.calls, world.statements], [2, 2])
})
