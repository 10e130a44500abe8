// Goal: keys that no proxy has cached cost control and the book one call and one statement a turn, however many they are.
// Method: the proxy's cache and control's answers over a real book and Redis, with statements and calls counted.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newSecret } from '../../../contract/wire/ids.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import type { ApiKey } from '../../../control/identity/keys/keyRow.ts'
import { createKey, type KeySettings, revokeKey } from '../../../control/identity/keys/keys.ts'
import type { Principal } from '../../../proxy/access/principal.ts'
import { limits } from '../../support/limits.ts'
import { ColdKeys, type ColdProxy } from '../../support/parts/coldKeys.ts'

const KEYS = 100

let world: ColdKeys

before(async () => {
  world = await ColdKeys.start()
})
after(() => world.stop())

async function newSecrets(count: number): Promise<string[]> {
  const accountId = await openNewAccount(world.pool, limits)
  const made = await Promise.all(Array.from({ length: count }, () => createKey(world.pool, accountId)))
  return made.map(({ secret }) => secret)
}

/** What was asked of control and the book meanwhile. */
async function costOf(work: () => Promise<unknown>): Promise<{ calls: number; statements: number }> {
  const [calls, statements] = [world.calls, world.statements]
  await work()
  return { calls: world.calls - calls, statements: world.statements - statements }
}

test('a turn that meets a hundred keys asks once, and control answers with one statement', async () => {
  const secrets = await newSecrets(KEYS)
  const { cache } = await world.newProxy()
  const cost = await costOf(() => Promise.all(secrets.map((secret) => cache.find(secret, Date.now()))))
  assert.deepEqual(cost, { calls: 1, statements: 1 })
})

test('a record that control has read is read from Redis by every other process, without control', async () => {
  const secrets = await newSecrets(KEYS)
  await world.announce()
  const [first, second] = [await world.newProxy(), await world.newProxy()]
  const findAll = ({ cache }: ColdProxy) => Promise.all(secrets.map((secret) => cache.find(secret, Date.now())))
  const asked = await findAll(first)
  let read: Principal[] = []
  const cost = await costOf(async () => {
    read = await findAll(second)
  })
  assert.deepEqual(cost, { calls: 0, statements: 0 })
  assert.deepEqual(read, asked)
  assert.deepEqual(
    [first.counts, second.counts],
    [
      { redis: 0, control: KEYS },
      { redis: KEYS, control: 0 },
    ],
  )
})

test('processes that meet a key together ask for it, and one of the answers is kept', async () => {
  const [secret = ''] = await newSecrets(1)
  const both = [await world.newProxy(), await world.newProxy()]
  await costOf(() => Promise.all(both.map(({ cache }) => cache.find(secret, Date.now()))))
  const third = await world.newProxy()
  const cost = await costOf(async () => third.cache.find(secret, Date.now()))
  assert.deepEqual(cost, { calls: 0, statements: 0 })
})

test('guessed keys leave nothing in Redis', async () => {
  const { cache } = await world.newProxy()
  const before = await world.redis.dbsize()
  await Promise.allSettled(Array.from({ length: KEYS }, async () => cache.find(newSecret('sk'), Date.now())))
  assert.equal(await world.redis.dbsize(), before)
})

test('a call has a bound, and further keys of the turn travel in the next one', async () => {
  const secrets = Array.from({ length: limits.keysPerCallMax + 1 }, () => newSecret('sk'))
  const { cache } = await world.newProxy()
  const cost = await costOf(() => Promise.allSettled(secrets.map(async (secret) => cache.find(secret, Date.now()))))
  assert.deepEqual(cost, { calls: 2, statements: 2 })
})

test('keys of one call are answered each by itself: known, unknown, revoked, paused, and sub-keys by their platform keys', async () => {
  const accountId = await openNewAccount(world.pool, limits)
  const make = (settings: KeySettings) => createKey(world.pool, accountId, settings)
  const makeBelow = async (platform: { key: ApiKey }) => {
    const made = await make({})
    await world.pool.query('UPDATE api_keys SET platform_key_id = $2 WHERE id = $1', [made.key.id, platform.key.id])
    return made
  }
  const revoke = ({ key }: { key: ApiKey }) => revokeKey(world.pool, key.id)
  const [known, revoked, paused] = [await make({}), await make({}), await make({ paused: true })]
  const [platform, endedPlatform] = [await make({ isPlatform: true, noLogs: true }), await make({ isPlatform: true })]
  const [subKey, endedSubKey] = [await makeBelow(platform), await makeBelow(endedPlatform)]
  await revoke(revoked)
  await revoke(endedPlatform)
  const secrets = [known, revoked, paused, platform, subKey, endedSubKey].map(({ secret }) => secret)
  const { cache } = await world.newProxy()
  const found = await Promise.allSettled(
    [...secrets, newSecret('sk')].map(async (secret) => cache.find(secret, Date.now())),
  )
  const shown = found.map((one) =>
    one.status === 'rejected'
      ? one.reason.code
      : [one.value.keyId, one.value.paused, one.value.noLogs, one.value.platform?.keyId ?? null],
  )
  assert.deepEqual(shown, [
    [known.key.id, false, false, null],
    'invalid_api_key',
    [paused.key.id, true, false, null],
    [platform.key.id, false, true, null],
    [subKey.key.id, false, true, platform.key.id],
    'invalid_api_key',
    'invalid_api_key',
  ])
})

test('without the account settings, each record says so, by one more statement', async () => {
  const secrets = await newSecrets(2)
  const { cache } = await world.newProxy()
  await world.pool.query('ALTER TABLE account_settings RENAME TO settings_away')
  const find = () => Promise.allSettled(secrets.map(async (secret) => cache.find(secret, Date.now())))
  const cost = await costOf(async () => {
    for (const one of await find()) assert.ok(one.status === 'rejected' && one.reason.code === 'settings_unavailable')
  })
  assert.deepEqual(cost, { calls: 1, statements: 2 })
  await world.pool.query('ALTER TABLE settings_away RENAME TO account_settings')
  for (const one of await find()) assert.equal(one.status, 'fulfilled')
})
