// Goal: a change of a key that is committed reaches the proxies even when whoever made it died before telling them.
// Method: a whole stack whose keys are cached for ten minutes; the changes are made in the database alone.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { hashSecret, newSecret } from '../../../contract/wire/ids.ts'
import { keptKey } from '../../../contract/wire/keptKeys.ts'
import { FEED_STREAM } from '../../../contract/wire/redisKeys.ts'
import { announceKeyChanges } from '../../../control/runtime/bus/announceKeyChanges.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { apiOk, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { chat, type ErrorBody } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { Stopwatch } from '../../support/stopwatch.ts'

const M = 'test/small'
const WITHIN_MS = 1_000

let stack: Stack
let pool: Pool
let owner: Owner

before(async () => {
  stack = await startStack({ catalog: { models: [{ id: M }] } })
  pool = createPool(stack.databaseUrl, limits)
  owner = await newOwner(stack, { coin: '10' })
})
after(async () => {
  await pool.end()
  await stack.finish()
})

const ask = (apiKey: string) => chat(stack.baseUrl, apiKey, { model: M, max_tokens: 1 })

async function codeOf(apiKey: string): Promise<string | null> {
  const { status, text } = await ask(apiKey)
  return status === 200 ? null : (JSON.parse(text) as ErrorBody).error.code
}

/** The keys are cached for ten minutes, so a change that is not told is not seen. */
const watch = new Stopwatch()

/** Runs SQL and waits until requests by the key are answered with this code, or with none. */
async function changes(apiKey: string, code: string | null, sql: string, values: unknown[]): Promise<void> {
  const changed = await pool.query(sql, values)
  assert.equal(changed.rowCount, 1)
  await watch.until(`the answer is ${code ?? 'a completion'}`, async () => (await codeOf(apiKey)) === code)
}

async function newKey(body: Json = {}, token = owner.token, path = '/v1/account/keys') {
  const key = await apiOk<{ id: string; api_key: string }>(stack.baseUrl, 'POST', path, { token, body })
  assert.equal(await codeOf(key.api_key), null)
  return key
}

test('of a key itself', async () => {
  const key = await newKey()
  await changes(key.api_key, 'key_paused', 'UPDATE api_keys SET paused = true WHERE id = $1', [key.id])
  await changes(key.api_key, null, 'UPDATE api_keys SET paused = false WHERE id = $1', [key.id])
  await changes(key.api_key, 'invalid_api_key', 'UPDATE api_keys SET revoked_at = now() WHERE id = $1', [key.id])
})

test('of the platform key that bounds it, and its end', async () => {
  const platform = await newKey({ platform: true })
  const key = await newKey({}, platform.api_key, '/v1/platform/keys')
  await changes(key.api_key, 'key_paused', 'UPDATE api_keys SET paused = true WHERE id = $1', [platform.id])
  await changes(key.api_key, null, 'UPDATE api_keys SET paused = false WHERE id = $1', [platform.id])
  const ends = `UPDATE api_keys SET expires_at = now() + interval '300 ms' WHERE id = $1`
  await changes(key.api_key, 'invalid_api_key', ends, [platform.id])
})

test('of the policy of an agent', async () => {
  const slug = 'announced'
  const agent = await apiOk<{ id: string }>(stack.baseUrl, 'POST', '/v1/agents', { token: owner.token, body: { slug } })
  const key = await apiOk<{ api_key: string }>(stack.baseUrl, 'POST', `/v1/agents/${slug}/key`, { token: owner.token })
  const funding = { token: owner.token, body: { amount: '1' } }
  await apiOk(stack.baseUrl, 'POST', `/v1/agents/${slug}/fund`, funding)
  await until('the agent is served', async () => (await codeOf(key.api_key)) === null)
  const cap = 'UPDATE agents SET request_cap_units = $2 WHERE id = $1'
  await changes(key.api_key, 'request_cap_exceeded', cap, [agent.id, 1])
  await changes(key.api_key, null, cap, [agent.id, null])
})

test('the record of a key in use is kept in Redis where nobody can read it, until the key changes', async () => {
  const key = await newKey()
  const { recordKey } = keptKey(hashSecret(key.api_key))
  const kept = () => stack.withRedis((redis) => redis.getBuffer(recordKey))
  await until('it is kept', async () => (await kept())?.toString('latin1').startsWith('R') ?? false)
  assert.equal((await kept())?.includes(key.id), false)
  const before = await kept()
  await changes(key.api_key, 'key_paused', 'UPDATE api_keys SET paused = true WHERE id = $1', [key.id])
  assert.notDeepEqual(await kept(), before)
})

test('all of it within a second', () => watch.assertWithin(WITHIN_MS))

test('all pending changes are announced, at least once, also by concurrent announcers', async () => {
  const hashes = Array.from({ length: 2 * limits.keyChangesBatchMax + 1 }, () => hashSecret(newSecret('sk')))
  await pool.query('INSERT INTO key_changes (hash) SELECT unnest($1::text[])', [hashes])
  const told = await stack.withRedis(async (redis) => {
    // The control of the stack is at it as well.
    await Promise.all([1, 2, 3].map(() => announceKeyChanges(pool, redis, limits)))
    return redis.xrangeBuffer(FEED_STREAM, '-', '+')
  })
  const toldHashes = new Set(told.map(([, [, bytes]]) => bytes && sluice.FeedEvent.decode(bytes).keyChanged))
  const missing = hashes.filter((hash) => !toldHashes.has(hash))
  assert.deepEqual(missing, [])
})

test('announced changes are deleted from the outbox', async () => {
  await until('the outbox is empty', async () => (await pool.query('SELECT 1 FROM key_changes')).rowCount === 0)
})
