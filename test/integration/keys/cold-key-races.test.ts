// Goal: no record that Redis keeps outlives a change of its key, whatever happens between the change, its announcement and those who
// read. Method: the proxy's cache and control's answers over a real book and Redis, in orders that the test sets step by step.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { hashSecret, newId, newSecret } from '../../../contract/wire/ids.ts'
import { keptKey } from '../../../contract/wire/keptKeys.ts'
import { ANNOUNCED_KEY, FEED_STREAM } from '../../../contract/wire/redisKeys.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { createKey } from '../../../control/identity/keys/keys.ts'
import { noteAllAnnounced } from '../../../control/runtime/bus/keptKeyRecords.ts'
import { redisNowMs } from '../../../control/runtime/redisClock.ts'
import { limits } from '../../support/limits.ts'
import { ColdKeys, seenBy } from '../../support/parts/coldKeys.ts'
import { until } from '../../support/stack.ts'

let world: ColdKeys

before(async () => {
  world = await ColdKeys.start()
})
afterEach(async () => {
  world.afterRead = async () => undefined
  await world.announce()
})
after(() => world.stop())

async function newKey(): Promise<string> {
  await world.announce()
  return (await createKey(world.pool, await openNewAccount(world.pool, limits))).secret
}

/** A key whose record is kept in Redis. */
async function keptNewKey(): Promise<string> {
  const secret = await newKey()
  assert.equal(await seenBy(await world.newProxy(), secret), 'active')
  assert.equal(await isKept(secret), true)
  return secret
}

const recordKeyOf = (secret: string) => keptKey(hashSecret(secret)).recordKey

async function isKept(secret: string): Promise<boolean> {
  return (await world.redis.get(recordKeyOf(secret)))?.startsWith('R') ?? false
}

/** Commits a change and tells nobody. */
async function pause(secret: string): Promise<void> {
  const changed = await world.pool.query('UPDATE api_keys SET paused = true WHERE hash = $1', [hashSecret(secret)])
  assert.equal(changed.rowCount, 1)
}

test('an announced change is seen by processes that have the key and by those that have not', async () => {
  const secret = await keptNewKey()
  const knowing = await world.newProxy()
  assert.equal(await seenBy(knowing, secret), 'active')
  await pause(secret)
  await world.announce()
  assert.equal(await seenBy(await world.newProxy(), secret), 'paused')
  await until('the event is read', async () => (await seenBy(knowing, secret)) === 'paused')
})

test('a record that was read before a change is not kept after it was announced', async () => {
  const secret = await newKey()
  world.afterRead = async () => {
    world.afterRead = async () => undefined
    await pause(secret)
    await world.announce()
  }
  const reader = await world.newProxy()
  // The request that waited meanwhile began before the change.
  assert.equal(await seenBy(reader, secret), 'active')
  assert.equal(await isKept(secret), false)
  assert.equal(await seenBy(await world.newProxy(), secret), 'paused')
  await until('the event is read', async () => (await seenBy(reader, secret)) === 'paused')
})

test('a record that was read before Redis was emptied is not kept there', async () => {
  const secret = await newKey()
  world.afterRead = async () => {
    world.afterRead = async () => undefined
    await pause(secret)
    await world.redis.del(recordKeyOf(secret))
    await world.open()
  }
  assert.equal(await seenBy(await world.newProxy(), secret), 'active')
  assert.equal(await isKept(secret), false)
  await world.announce()
  assert.equal(await seenBy(await world.newProxy(), secret), 'paused')
})

test('a record that comes back with an older state of Redis is not used', async () => {
  const secret = await keptNewKey()
  const older = (await world.redis.dumpBuffer(recordKeyOf(secret))) ?? assert.fail()
  await pause(secret)
  await world.announce()
  await world.redis.restore(recordKeyOf(secret), 0, older)
  const early = await world.newProxy()
  // Before control has noticed, the proxies know that another server has taken over.
  early.known = false
  assert.equal(await seenBy(early, secret), 'paused')
  await world.open()
  assert.equal(await seenBy(await world.newProxy(), secret), 'paused')
  assert.equal(await seenBy(await world.newProxy(), secret), 'paused')
})

test('a claim that comes back with an older state of Redis keeps no record for the new one', async () => {
  const secret = await newKey()
  world.afterRead = async () => {
    world.afterRead = async () => undefined
    const claim = (await world.redis.dumpBuffer(recordKeyOf(secret))) ?? assert.fail()
    await pause(secret)
    await world.announce()
    await world.redis.restore(recordKeyOf(secret), 0, claim)
    await world.open()
  }
  assert.equal(await seenBy(await world.newProxy(), secret), 'active')
  assert.equal(await seenBy(await world.newProxy(), secret), 'paused')
})

test('while nobody announces changes, control is asked, so that none is overlooked', async () => {
  const secret = await keptNewKey()
  await pause(secret)
  // What is left of a control that ended between a commit and its announcement, after keyRecordTrustMs.
  await world.redis.del(ANNOUNCED_KEY)
  assert.equal(await seenBy(await world.newProxy(), secret), 'paused')
})

test('the time in which records are trusted counts from before the outbox was read, by the clock of Redis', async () => {
  await world.redis.del(ANNOUNCED_KEY)
  const nowMs = await redisNowMs(world.redis)
  await noteAllAnnounced(world.redis, nowMs - limits.keyRecordTrustMs - 1, limits)
  assert.equal(await world.redis.exists(ANNOUNCED_KEY), 0)
  await noteAllAnnounced(world.redis, nowMs, limits)
  assert.ok((await world.redis.pttl(ANNOUNCED_KEY)) <= limits.keyRecordTrustMs)
})

test('the event of a control that drops no records has the proxy drop it before it reads again', async () => {
  const secret = await keptNewKey()
  const follower = await world.newProxy()
  assert.equal(await seenBy(follower, secret), 'active')
  await pause(secret)
  await world.pool.query('DELETE FROM key_changes')
  const event = sluice.FeedEvent.encode({ keyChanged: hashSecret(secret) }).finish()
  await world.redis.xadd(FEED_STREAM, '*', 'e', Buffer.from(event))
  await until('the event is read', async () => (await seenBy(follower, secret)) === 'paused')
  assert.equal(await seenBy(await world.newProxy(), secret), 'paused')
})

test('a record that cannot be opened is dropped, and control is asked', async () => {
  const [secret, other] = [await keptNewKey(), await keptNewKey()]
  await world.redis.copy(recordKeyOf(other), recordKeyOf(secret), 'REPLACE')
  assert.equal(await seenBy(await world.newProxy(), secret), 'active')
  assert.equal(await seenBy(await world.newProxy(), secret), 'active')
  assert.equal(await isKept(secret), true)
})

test('records without the settings of their account are not kept, nor the refusals of unknown keys', async () => {
  const secret = await newKey()
  await world.pool.query('ALTER TABLE account_settings RENAME TO settings_away')
  assert.equal(await seenBy(await world.newProxy(), secret), 'settings_unavailable')
  await world.pool.query('ALTER TABLE settings_away RENAME TO account_settings')
  assert.equal(await world.redis.exists(recordKeyOf(secret)), 0)
  assert.equal(await seenBy(await world.newProxy(), secret), 'active')
  const unknown = newSecret('sk')
  assert.equal(await seenBy(await world.newProxy(), unknown), 'invalid_api_key')
  assert.equal(await world.redis.exists(recordKeyOf(unknown)), 0)
})

test('the end of a lock series is a change of the keys of its holders', async () => {
  const accountId = await openNewAccount(world.pool, limits)
  const { key } = await createKey(world.pool, accountId)
  const seriesId = newId('lock')
  await world.pool.query(
    `INSERT INTO lock_series (id, model, month, ends_at_ms, provider, locked_price_units, price, supply_micros, taker_fee_ppm, state)
     VALUES ($1, 'test/small', '2026-01', 1, 'p', 1000000, '{}', 1, 0, 'open')`,
    [seriesId],
  )
  await world.pool.query('INSERT INTO lock_holdings (series_id, account_id) VALUES ($1, $2)', [seriesId, accountId])
  await world.announce()
  await world.pool.query(`UPDATE lock_series SET state = 'broken' WHERE id = $1`, [seriesId])
  const noted = await world.pool.query<{ hash: string }>('SELECT hash FROM key_changes')
  assert.deepEqual(noted.rows, [{ hash: key.hash }])
})
